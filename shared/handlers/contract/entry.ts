/**
 * Validates the registrations with which services announce their handlers. Any client of the broker can write one, so
 * the platform does not trust them.
 */
import { z } from "zod";
import { ACTS, HANDLER_PART } from "../../definition/document/index.ts";
import type { Fault } from "../../kernel/errors.ts";
import { addZodIssues, Faults } from "../../kernel/faults.ts";
import { isObject, tooDeep } from "../../kernel/json.ts";
import { compileJsonSchema, type JsonSchema } from "../schema/index.ts";
import { checkHeaders, checkPaths, httpMembers } from "./http-entry.ts";
import { HTTP_PART_BYTES } from "./http-limits.ts";
import { subjectFault } from "./subject.ts";
import { HANDLER_AUTH, type RemoteHandler, type RemoteHttpHandler, SERVICES, TIMEOUT } from "./types.ts";

const common = {
  name: z.string().meta({ description: "The key: <service>.<handler>", example: "pricing.quote" }),
  description: z.string().max(2_000),
  auth: z.enum(HANDLER_AUTH),
  subject: z.string().meta({ description: "Literal subject that the service listens on." }),
  timeoutMs: z
    .int()
    .min(TIMEOUT.min)
    .max(TIMEOUT.max)
    .optional()
    .meta({ description: `Milliseconds to wait for a reply (${TIMEOUT.default}).` }),
  acts: z.array(z.enum(ACTS)).max(ACTS.length).optional().meta({
    description:
      "Acts that the handler requests: operations for its callers. The orb's document grants them.",
  }),
};

const callEntrySchema = z
  .strictObject({
    ...common,
    kind: z.literal("nats"),
    input: z.unknown().optional().meta({ description: "JSON Schema of the input." }),
    output: z.unknown().optional().meta({ description: "JSON Schema of the output." }),
  })
  .meta({ id: "RegistryEntry", description: "A remote handler in the bucket `handlers`." });

const httpEntrySchema = z
  .strictObject({ ...common, kind: z.literal("http"), ...httpMembers })
  .meta({ id: "HttpRegistryEntry", description: "A remote HTTP handler in the bucket `handlers`." });

/**
 * Only a registration with `kind: http` is validated as an HTTP handler. All others are validated as plain handlers, so
 * that an error names the invalid property.
 */
const schemaOf = (value: unknown) =>
  isObject(value) && value.kind === "http" ? httpEntrySchema : callEntrySchema;

const ENTRY_LIMIT = 256 * 1024;
/** Maximum nesting of a registration: twice the maximum nesting of a JSON Schema. */
const ENTRY_DEPTH = 128;

export interface FaultyEntry {
  name: string;
  faults: Fault[];
}

/** Splits `<service>.<handler>`, or returns undefined if it is invalid. */
export function splitName(name: string): { service: string; handler: string } | undefined {
  const [service = "", handler = "", ...rest] = name.split(".");
  if (rest.length > 0 || !HANDLER_PART.test(service) || !HANDLER_PART.test(handler)) return undefined;
  return { service, handler };
}

/** @param reserved names of built-in services */
export function readEntry(
  key: string,
  text: string,
  reserved: ReadonlySet<string>,
): RemoteHandler | RemoteHttpHandler | FaultyEntry {
  const faults = new Faults();
  const faulty = () => ({ name: key, faults: faults.list() });
  const split = splitName(key);
  if (split === undefined)
    faults.add("", "key", "The key must be <service>.<handler>. Register the handler under another key.");
  else if (reserved.has(split.service)) {
    faults.add(
      "",
      "reserved",
      `The service name "${split.service}" is reserved for the platform. Choose another name.`,
    );
  }
  let value: unknown;
  try {
    if (text.length > ENTRY_LIMIT || tooDeep(text, ENTRY_DEPTH)) throw new Error("too large");
    value = JSON.parse(text) as unknown;
  } catch {
    const words = `The entry must be JSON of at most ${ENTRY_LIMIT / 1024} KiB with at most ${ENTRY_DEPTH} levels of nesting.`;
    faults.add("", "malformed", words);
    return faulty();
  }
  const parsed = schemaOf(value).safeParse(value);
  if (!parsed.success) {
    addZodIssues(faults, parsed.error.issues, value);
    return faulty();
  }
  const entry = parsed.data;
  const { name, description, auth, subject, timeoutMs = TIMEOUT.default, acts } = entry;
  if (name !== key) faults.add("/name", "key", "must be equal to the key");
  const wrong =
    subjectFault(subject, split?.service) ??
    (entry.kind === "http" ? ownFault(subject, split?.service) : undefined);
  if (wrong !== undefined) faults.add("/subject", "subject", wrong);
  const shared = { name, description, auth, subject, timeoutMs, ...(acts === undefined ? {} : { acts }) };
  if (entry.kind === "http") {
    const { paths = {}, headers = [], maxBodyBytes = HTTP_PART_BYTES } = entry;
    checkPaths(paths, faults);
    if (split !== undefined) checkHeaders(headers, split.service, faults);
    if (faults.any) return faulty();
    const lower = headers.map((header) => header.toLowerCase());
    return { kind: "http", ...shared, paths, headers: lower, maxBodyBytes };
  }
  const { input, output } = entry;
  for (const [member, schema] of [
    ["input", input],
    ["output", output],
  ] as const) {
    const compiled = schema === undefined ? [] : compileJsonSchema(schema as JsonSchema);
    if (!Array.isArray(compiled)) continue;
    for (const { path, code, message } of compiled) faults.add(`/${member}${path}`, code, message);
  }
  if (faults.any) return faulty();
  return {
    kind: "nats",
    ...shared,
    ...(input === undefined ? {} : { input: input as JsonSchema }),
    ...(output === undefined ? {} : { output: output as JsonSchema }),
  };
}

/**
 * An HTTP handler also receives messages on subjects below its own. Its subject must begin with the name of its
 * service. Otherwise the handler could receive messages for another service.
 */
function ownFault(subject: string, service: string | undefined): string | undefined {
  const own = `${SERVICES}${service}.`;
  return subject.startsWith(own) ? undefined : `must begin with ${own} because this is an HTTP handler`;
}

export function isFaulty<T extends object>(entry: T | FaultyEntry): entry is FaultyEntry {
  return "faults" in entry;
}
