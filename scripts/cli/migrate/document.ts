/** Makes the orb document of a migration, and the orb. */
import { isProblem } from "../../../shared/client/problem.ts";
import { CommandError, type Context, manage } from "../command/context.ts";
import type { Fitted } from "./fit.ts";
import {
  type FieldDefinition,
  MODULE,
  type SchemaDefinition,
  SOURCE_ID,
  type Source,
} from "./model/source.ts";
import { refOf } from "./rows.ts";

export interface OrbDocument {
  id: string;
  name: string;
  languages: readonly string[];
  components?: readonly object[];
  roles?: readonly object[];
  uses?: readonly object[];
  modules: readonly object[];
}

/** @param read who may read published entries */
export function documentOf(orb: string, source: Source, { schemas }: Fitted, read: string): OrbDocument {
  const { name, languages, components, roles = [] } = source.document;
  const fieldsOf = (fields: readonly FieldDefinition[]) => fields.map((field) => withFullNames(orb, field));
  const key = { name: SOURCE_ID, type: "string", unique: true, label: `Id in ${name}` };
  return {
    ...{ id: orb, name: orb, languages },
    ...(components.length === 0
      ? {}
      : { components: components.map((one) => ({ ...one, fields: fieldsOf(one.fields) })) }),
    ...(roles.length === 0 ? {} : { roles }),
    // Accounts begin with an invitation, as nobody has one yet.
    ...(roles.length > 0 || schemas.some(needsAccounts)
      ? { uses: [{ service: "access", handlers: ["passkey", "invitations"] }] }
      : {}),
    modules: [
      {
        ...{ id: MODULE, type: "CONTENT" },
        schemas: schemas.map((schema) => ({
          ...schema,
          access: { read, ...schema.access },
          fields: [...fieldsOf(schema.fields), key],
        })),
      },
    ],
  };
}

/** Returns whether the access rules of a schema name accounts that are no admins. */
const needsAccounts = ({ access = {} }: SchemaDefinition): boolean =>
  Object.values(access).flat().includes("user");

/** Returns a field with the full names of the schemas that it refers to. */
function withFullNames(orb: string, field: FieldDefinition): FieldDefinition {
  const full = (names: unknown): unknown =>
    Array.isArray(names) ? names.map(full) : typeof names === "string" ? refOf(orb, names) : names;
  const { ref, links, fields } = field;
  return {
    ...field,
    ...(ref === undefined ? {} : { ref: full(ref) }),
    ...(links === undefined ? {} : { links: full(links) }),
    ...(fields === undefined ? {} : { fields: fields.map((one) => withFullNames(orb, one)) }),
  };
}

/**
 * Creates and publishes the orb. Leaves it as it is if an earlier run has made it.
 * @throws CommandError if there is another orb with this id
 */
export async function ensureOrb(context: Context, document: OrbDocument): Promise<void> {
  const path = `/api/admin/orbs/${encodeURIComponent(document.id)}`;
  const existing = await manage<{ publishedRevision: number | null; revision: number }>(
    context,
    "GET",
    path,
  ).catch((error: unknown) => {
    if (isProblem(error, "orb_not_found")) return undefined;
    throw error;
  });
  if (existing === undefined) {
    await manage(context, "POST", "/api/admin/orbs", { query: { publish: "true" }, body: document });
    return;
  }
  const { summary } = await manage<{ summary: readonly string[] }>(context, "PUT", path, {
    query: { dryRun: "true" },
    body: document,
  });
  if (summary.length > 0)
    throw new CommandError(
      `There is an orb ${document.id} already, with another document: ${summary.slice(0, 3).join("; ")}. Choose another id, or delete the orb.`,
    );
  if (existing.publishedRevision !== existing.revision) await manage(context, "POST", `${path}/publish`);
}
