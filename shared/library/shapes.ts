import { z } from "zod";
import { checkDocument } from "../definition/check/index.ts";
import type { FieldDefinition, ModuleDefinition } from "../definition/document/index.ts";
import { compileJsonSchema, type JsonSchema } from "../handlers/schema/index.ts";
import type { Fault } from "../kernel/errors.ts";
import { AppError } from "../kernel/errors.ts";
import { addZodIssues, Faults } from "../kernel/faults.ts";

export const DEFINITION_KINDS = ["messages", "modules"] as const;
export type DefinitionKind = (typeof DEFINITION_KINDS)[number];

/**
 * Placeholder in the references of a template. It stands for the id of the application that will use the template.
 */
const TEMPLATE_ORB = "template";

export interface DefinitionBody {
  description: string;
  schema?: JsonSchema;
  module?: ModuleDefinition;
}

const description = z.string().max(2_000).default("");
const messageSchema = z.strictObject({ description, schema: z.unknown() });
const templateSchema = z.strictObject({ description, module: z.unknown() });

/** Validates a definition. Returns all errors, or the value to store. */
export function readDefinition(kind: DefinitionKind, input: unknown): DefinitionBody | Fault[] {
  const faults = new Faults();
  const parsed = (kind === "messages" ? messageSchema : templateSchema).safeParse(input);
  if (!parsed.success) {
    addZodIssues(faults, parsed.error.issues, input);
    return faults.list();
  }
  const { data } = parsed;
  if ("schema" in data) {
    if (data.schema === undefined) faults.add("/schema", "required", "is required");
    else {
      const compiled = compileJsonSchema(data.schema);
      if (!Array.isArray(compiled))
        return { description: data.description, schema: data.schema as JsonSchema };
      for (const { path, code, message } of compiled) faults.add(`/schema${path}`, code, message);
    }
    return faults.list();
  }
  return readTemplate(data.description, data.module);
}

/** A template is valid if an application that contains only this module is valid. */
function readTemplate(text: string, module: unknown): DefinitionBody | Fault[] {
  try {
    const { document } = checkDocument({ id: TEMPLATE_ORB, modules: [module], ...PLACES });
    const [checked] = document.modules;
    if (checked !== undefined) return { description: text, module: checked };
    return [{ path: "/module", code: "required", message: "is required" }];
  } catch (error) {
    if (!(error instanceof AppError) || error.errors === undefined) throw error;
    return error.errors.map((fault) => ({ ...fault, path: fault.path.replace(/^\/modules\/0/, "/module") }));
  }
}

/**
 * Market-specific fields are valid only with at least one market, but a template declares none. So validate templates
 * with this placeholder.
 */
const PLACES = { markets: ["any"] };

/**
 * Creates a module from a template. References to the template's own schemas are changed to point into the given
 * application.
 */
export function moduleFrom(
  template: ModuleDefinition,
  place: { orb?: string | undefined; module?: string | undefined },
): ModuleDefinition {
  const id = place.module ?? template.id;
  const prefix = `${TEMPLATE_ORB}/${template.id}/`;
  const follow = (ref: string): string =>
    ref.startsWith(prefix) && place.orb !== undefined
      ? `${place.orb}/${id}/${ref.slice(prefix.length)}`
      : ref;
  const placed = (field: FieldDefinition): FieldDefinition => {
    const { ref, fields } = field;
    return {
      ...field,
      ...(ref === undefined ? {} : { ref: typeof ref === "string" ? follow(ref) : ref.map(follow) }),
      ...(fields === undefined ? {} : { fields: fields.map(placed) }),
    };
  };
  return {
    ...template,
    id,
    schemas: template.schemas.map((schema) => ({
      ...schema,
      fields: schema.fields.map(placed),
    })),
  };
}
