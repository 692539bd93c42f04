/** Takes stored values of fields to the objects whose members they became, and back. See `moves.ts`. */
import { isObject } from "../../kernel/json.ts";
import type { CompiledMove, MovedField } from "./moves.ts";
import type { OnLoss } from "./step.ts";

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns stored values with each field where the definition has it.
 * @param lose called with the path of the field, and the reason why its value cannot be taken there
 */
export function moveValues(
  fields: readonly MovedField[],
  stored: Values,
  lose: (path: string, reason: string) => void = () => {},
): Values {
  return fields.reduce((values, field) => moved(field, values, (reason) => lose(field.path, reason)), stored);
}

function moved({ stored, isOwn, moves }: MovedField, values: Values, onLoss: OnLoss): Values {
  const own = stored.find((name) => Object.hasOwn(values, name));
  // Each write stores the value in one place, so values of members count only if there is no other one.
  const found = own === undefined ? takenOut(moves, values, onLoss) : { name: own, value: values[own] };
  if (found === undefined) return values;
  if (isOwn) return { ...values, [found.name]: found.value };
  const inside = moves.find(({ isInside }) => isInside);
  const rest = Object.fromEntries(Object.entries(values).filter(([name]) => !stored.includes(name)));
  const value: unknown = inside?.fields.get(found.name)?.convert(found.value, onLoss);
  return inside === undefined ? rest : putInto(inside, rest, value ?? null);
}

/** Returns the stored names of fields that are members of an object now, and the names of the members. */
export function movedInto(fields: readonly MovedField[], object: string, values: Values): [string, string][] {
  return fields.flatMap(({ isOwn, path, stored }): [string, string][] => {
    const [owner, member] = path.split(".");
    const from = stored.find((one) => Object.hasOwn(values, one));
    return isOwn || owner !== object || member === undefined || from === undefined ? [] : [[from, member]];
  });
}

/** Returns the value of a member that the definition no longer has, as one of the field. */
function takenOut(moves: readonly CompiledMove[], values: Values, onLoss: OnLoss) {
  for (const { isInside, field, objects, members } of moves) {
    if (isInside) continue;
    for (const [name, objectOf] of objects) {
      const object = Object.hasOwn(values, name) ? objectOf.convert(values[name], onLoss) : undefined;
      if (!isObject(object)) continue;
      for (const [member, conversion] of members) {
        if (!Object.hasOwn(object, member)) continue;
        const value: unknown = conversion.convert(object[member], onLoss);
        if (value !== undefined) return { name: field, value };
      }
    }
  }
  return undefined;
}

/**
 * Adds the member to its object. An entry that has the value as the field's own was not written since the move. What it
 * has for the member is from one that was removed before, and what it has for the object may be of an earlier form.
 * @param value null if the field has none
 */
function putInto({ object, objects, member, members }: CompiledMove, values: Values, value: unknown): Values {
  const names = [object, ...objects.keys()];
  const found = names.find((name) => Object.hasOwn(values, name));
  if (found === undefined && value === null) return values;
  const before = found === undefined ? undefined : objects.get(found)?.convert(values[found]);
  const others = Object.entries(isObject(before) ? before : {}).filter(([name]) => !members.has(name));
  const rest = Object.entries(values).filter(([name]) => !objects.has(name));
  return Object.fromEntries([
    ...rest,
    [object, Object.fromEntries([...others, ...(value === null ? [] : [[member, value]])])],
  ]);
}
