/** Names the places inside objects, blocks and rich text where two versions differ. */
import { BLOCK } from "../../../shared/definition/types/index.ts";
import { type FieldModel, labelOf, type OrbModel, shapesOf } from "../model/orb.ts";
import { languageName, t } from "../texts/t.ts";

type Members = Readonly<Record<string, unknown>>;
const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Where a walk along a change has come to. `field` is undefined in values that no field describes. */
interface Step {
  field: FieldModel | undefined;
  value: unknown;
}

/** Returns the item with a key, and its number in the list. */
function itemIn(list: readonly unknown[], key: string): { item: unknown; number: number } {
  const at = list.findIndex((item) => isMembers(item) && item._key === key);
  return { item: list[at], number: at + 1 };
}

/**
 * Returns a readable name of a place, such as `Quote 2 · Text · German`.
 * @param way names and keys that lead to the place, as in `Change.way`
 * @param values the versions; the first one that has the place tells its number
 */
export function placeName(
  field: FieldModel,
  orb: Pick<OrbModel, "components">,
  way: readonly string[],
  values: readonly unknown[],
): string {
  const found = values.find((value) => reaches(value, way));
  const names: string[] = [];
  let step: Step = { field, value: found };
  for (const name of way) {
    const [label, next] = stepInto(step, name, orb);
    names.push(label);
    step = next;
  }
  return names.join(" · ");
}

function reaches(value: unknown, way: readonly string[]): boolean {
  let inner = value;
  for (const name of way) {
    inner = Array.isArray(inner) ? itemIn(inner, name).item : isMembers(inner) ? inner[name] : undefined;
    if (inner === undefined) return false;
  }
  return true;
}

function stepInto(
  { field, value }: Step,
  name: string,
  orb: Pick<OrbModel, "components">,
): [label: string, next: Step] {
  if (Array.isArray(value)) {
    const { item, number } = itemIn(value, name);
    const type = isMembers(item) ? item._type : undefined;
    const shape = field && shapesOf(field, orb).find(({ component }) => component === type);
    const label = type === BLOCK ? t("history.paragraph") : (shape?.label ?? (field && labelOf(field)) ?? "");
    return [`${label} ${number}`, { field, value: item }];
  }
  const inner = isMembers(value) ? value[name] : undefined;
  if (isMembers(value) && value._type === BLOCK)
    return [t("history.format"), { field: undefined, value: inner }];
  const shapes = field === undefined ? [] : shapesOf(field, orb);
  const type = isMembers(value) ? (value._type ?? "") : "";
  const own = shapes.find(({ component }) => component === type)?.fields.find((one) => one.name === name);
  if (own !== undefined) return [labelOf(own), { field: own, value: inner }];
  return [/^[a-z]{2,3}(-|$)/.test(name) ? languageName(name) : name, { field, value: inner }];
}
