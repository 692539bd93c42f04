/** Says in words what people with a role can do in an application. */
import { type OrbModel, type SchemaModel, titleOf } from "../model/orb.ts";
import { LANGUAGE, t } from "../texts/t.ts";

const ACTIONS = ["create", "update", "publish", "delete"] as const;
const list = new Intl.ListFormat(LANGUAGE, { type: "conjunction" });

/** Access rules of a schema in a document. Only platform admins receive documents. */
interface Ruled extends SchemaModel {
  access?: Readonly<Partial<Record<(typeof ACTIONS)[number] | "read", string | readonly string[]>>>;
}

/** Returns what the access rules of the schemas grant to a role by name, such as `Story: create, change`. */
function grantsOf({ modules }: OrbModel, role: string): string[] {
  return modules.flatMap(({ schemas }) =>
    schemas.flatMap((schema: Ruled) => {
      const actions = ACTIONS.filter((action) => schema.access?.[action]?.includes(role) === true);
      if (actions.length === 0) return [];
      return [`${titleOf(schema)}: ${list.format(actions.map((action) => t(`people.act-${action}`)))}`];
    }),
  );
}

export function explainRole(orb: OrbModel, role: string): string {
  if (role === "user" || role === "admin" || role === "owner") return t(`people.about-${role}`);
  const found = orb.roles?.find(({ id }) => id === role);
  if (found === undefined) return t("people.about-gone");
  const as = t(found.extends === "admin" ? "people.about-likeAdmin" : "people.about-likeUser");
  const grants = grantsOf(orb, role);
  return grants.length === 0 ? as : `${as} ${t("people.about-also", { grants: grants.join("; ") })}`;
}
