import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { addZodIssues, Faults } from "../../kernel/faults.ts";
import { type OrbDocument, orbDocumentSchema } from "../document/index.ts";
import { checkAccess } from "./check-access.ts";
import { checkFields } from "./check-fields.ts";
import { checkHooks } from "./check-hooks.ts";
import { checkNames } from "./check-names.ts";
import { checkNested } from "./check-nested.ts";
import { checkPreviews } from "./check-preview.ts";
import { checkWorkflow } from "./check-workflow.ts";
import { readLoosely } from "./loose.ts";

/** Maximum nesting of a document. Only the default value of a json field can nest deeply. */
const MAX_DEPTH = 64;

/**
 * Validates a document from a client and fills in defaults.
 * @param more further validation errors, to report together with the errors of the document
 * @param before the current document, which the validated document would replace
 */
export function checkDocument(
  input: unknown,
  more: readonly Fault[] = [],
  before?: OrbDocument,
): { document: OrbDocument } {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw invalid([{ path: "", code: "type", message: "must be a JSON object" }]);
  }
  if (nestsDeeperThan(input, MAX_DEPTH)) {
    throw new AppError(
      "invalid",
      "validation_failed",
      "The document is nested too deeply. Flatten its default values.",
      {
        errors: [{ path: "", code: "too_deep", message: `must be nested at most ${MAX_DEPTH} levels deep` }],
      },
    );
  }
  const faults = new Faults();
  for (const fault of more) faults.add(fault.path, fault.code, fault.message);
  const parsed = orbDocumentSchema.safeParse(input);
  if (!parsed.success) addZodIssues(faults, parsed.error.issues, input);
  const loose = readLoosely(input);
  const access = loose.uses.find(({ service }) => service === "access");
  if (access === undefined) {
    for (const part of ["session", "branding", "access", "roles"]) {
      if (Reflect.get(input, part) === undefined) continue;
      const message =
        "has no effect without accounts of the orb's own. Add the service access to uses, or remove it.";
      faults.add(`/${part}`, "needs_access", message);
    }
  } else if (
    parsed.data?.access?.signup === "open" &&
    !access.handlers.some(({ value }) => value === "passkey" || value === "oauth")
  ) {
    const message = "has no effect without passkeys. Add the handler passkey of the service access to uses.";
    faults.add("/access/signup", "needs_access", message);
  }
  const providers = parsed.data?.access?.providers ?? [];
  if (providers.length > 0 && access?.handlers.some(({ value }) => value === "oauth") === false) {
    const message = "need the handler oauth of the service access. Add it to uses, or remove the providers.";
    faults.add("/access/providers", "needs_access", message);
  }
  checkNames(loose, faults, before);
  checkAccess(loose, faults);
  checkHooks(loose, faults);
  checkWorkflow(loose, faults);
  checkFields(loose, faults);
  checkNested(loose, faults);
  checkPreviews(loose, faults);
  if (!parsed.success || faults.any) throw invalid(faults.list());
  return { document: parsed.data };
}

/** Returns whether a value nests deeper than the limit. Not recursive, because deep input could exhaust the stack. */
function nestsDeeperThan(input: object, limit: number): boolean {
  let level: object[] = [input];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    const below: object[] = [];
    for (const node of level) {
      for (const value of Object.values(node)) {
        if (typeof value === "object" && value !== null) below.push(value);
      }
    }
    level = below;
  }
  return false;
}
