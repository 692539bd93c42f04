/** Renames fields of components, because components of one field must agree about the type of a name. */
import { textIn, textsIn } from "../../model/read-json.ts";
import type { Loss } from "../../model/source.ts";
import type { Field } from "./fields.ts";

interface Component {
  uid: string;
  fields: Field[];
}

/** Each round renames the fields of one level, and components nest at most 8 levels. */
const ROUNDS = 20;

/**
 * @param all fields of content types and components
 * @param componentOf returns a component by its unique id
 */
export function agreeOnTypes(
  all: readonly Field[],
  componentOf: (uid: string) => Component | undefined,
  losses: Loss[],
): void {
  const zones = all.filter(({ type }) => type === "dynamiczone");
  for (let round = 0; round < ROUNDS; round++) {
    const others = zones.flatMap((zone) => disagreeing(zone, componentOf));
    if (others.length === 0) return;
    for (const { component, field } of others) rename(component, field, losses);
  }
}

interface Found {
  component: Component;
  field: Field;
}

/** Returns the fields whose type differs from that of an earlier field of the same name. */
function disagreeing(zone: Field, componentOf: (uid: string) => Component | undefined): Found[] {
  const types = new Map<string, string>();
  const found: Found[] = [];
  const visit = (uids: readonly string[], at: string, depth: number) => {
    for (const uid of uids) {
      const component = componentOf(uid);
      for (const field of component?.fields ?? []) {
        const { name } = field.definition;
        const type = typeOf(field);
        const known = types.get(`${at}.${name}`) ?? type;
        types.set(`${at}.${name}`, known);
        if (known !== type && component !== undefined) found.push({ component, field });
        else if (depth < ROUNDS) visit(componentsIn(field), `${at}.${name}`, depth + 1);
      }
    }
  };
  visit(componentsIn(zone), "", 0);
  return found;
}

const componentsIn = ({ source }: Field): string[] =>
  [textIn(source, "component") ?? [], textsIn(source, "components")].flat();

const typeOf = ({ definition }: Field): string =>
  `${definition.type}${definition.list === true ? " list" : ""}`;

function rename(component: Component, field: Field, losses: Loss[]): void {
  const before = field.definition.name;
  const taken = new Set(component.fields.map(({ definition }) => definition.name));
  const base = `${before.slice(0, 40)}_${typeOf(field).replace(" ", "_")}`;
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}_${number}`;
  field.definition = { ...field.definition, name };
  losses.push({
    ...{ kind: "model", at: `component ${component.uid}, attribute ${field.id}`, became: name },
    why: `a dynamic zone has components whose ${before} differ in type`,
  });
}
