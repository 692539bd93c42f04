/** Names the places of faults and warnings as the caller of an earlier revision does. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Fault } from "../../kernel/errors.ts";
import { pointer, unescapeSegment } from "../../kernel/faults.ts";
import { oldByNow, type SchemaPair } from "./fields.ts";
import { placeKey } from "./overlay.ts";

export type Positions = ReadonlyMap<string, readonly number[]>;

const NUMBER = /^\d+$/;

/** The way to a value, in both shapes. */
interface Way {
  now: CompiledField;
  old: CompiledField | undefined;
  /** In the shape of the earlier revision. Undefined while it has no field for it. */
  trail: string[] | undefined;
  /** In the live shape, with the positions that items have in the request. */
  sent: string[];
  rest: readonly string[];
}

const wayTo = (field: CompiledField): string[] =>
  field.parent === undefined ? [field.key] : [...wayTo(field.parent), field.key];

/** Leads into the maps of markets and languages, and into the list. Returns false if the path names a hidden item. */
function intoValue(way: Way, schema: CompiledSchema, positions: Positions): boolean {
  const { now, old } = way;
  const levels = [
    [now.marketSpecific, old?.marketSpecific, schema.markets],
    [now.translatable, old?.translatable, schema.languages],
  ] as const;
  for (const [is, was, keys] of levels) {
    const [key] = way.rest;
    if (!is || key === undefined || !keys.includes(key)) continue;
    way.sent.push(key);
    way.rest = way.rest.slice(1);
    if (was === true) way.trail?.push(key);
  }
  const [index] = way.rest;
  if (!now.list || index === undefined || !NUMBER.test(index)) return true;
  const place = positions.get(placeKey(way.sent))?.[Number(index)] ?? Number(index);
  way.rest = way.rest.slice(1);
  if (place < 0) return false;
  way.sent.push(String(place));
  if (old?.list === true) way.trail?.push(String(place));
  return true;
}

/** Leads to a member of an object. Returns false if the path ends here, or leads to no field. */
function intoMember(way: Way, fields: ReadonlyMap<CompiledField, CompiledField>): boolean {
  const [name] = way.rest;
  if (name === undefined) return false;
  const found = [...(way.now.shapes?.values() ?? [])].flatMap((members) => members.get(name) ?? []);
  const member = found.find((one) => fields.has(one)) ?? found[0];
  if (member === undefined) return false;
  const old = fields.get(member);
  const isBelow = old?.parent !== undefined && old.parent === way.old;
  way.trail = old === undefined ? undefined : isBelow ? [...(way.trail ?? []), old.key] : wayTo(old);
  way.now = member;
  way.old = old;
  way.sent.push(name);
  way.rest = way.rest.slice(1);
  return true;
}

/**
 * Returns a fault with the place that the earlier revision has for it. If it has none, the fault's message names the
 * field of the live definition.
 */
export function asOldFault(pair: SchemaPair, positions: Positions, revision: number, fault: Fault): Fault {
  const [, root, name = "", ...rest] = fault.path.split("/").map(unescapeSegment);
  const field = root === "values" ? pair.now.fields.get(name) : undefined;
  if (field === undefined) return fault;
  const fields = oldByNow(pair);
  const old = fields.get(field);
  const way: Way = { now: field, old, trail: old === undefined ? undefined : wayTo(old), sent: [name], rest };
  let last = way.trail;
  while (intoValue(way, pair.now, positions)) {
    last = way.trail ?? last;
    if (!intoMember(way, fields)) break;
  }
  if (way.trail !== undefined) return { ...fault, path: `/values${pointer([...way.trail, ...way.rest])}` };
  const path = `/values${last === undefined ? "" : pointer(last)}`;
  const message = `has no value for "${way.now.name}", a field that revision ${revision} does not have: ${fault.message}`;
  return { ...fault, path, message };
}
