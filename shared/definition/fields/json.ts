import { escapeSegment, type Report } from "../../kernel/faults.ts";
import { textFlaw } from "../document/index.ts";
import { FIELD_TRAITS } from "../types/index.ts";
import { characters, type FieldType, type Json } from "./parts/index.ts";

const MAX_JSON_DEPTH = 32;
/** Maximum number of properties, items and scalars in one JSON value. */
const MAX_JSON_NODES = 20_000;

/** Any JSON value except null, which means "no value". */
export const jsonType: FieldType = {
  name: "json",
  ...FIELD_TRAITS.json,
  parse(value, report) {
    const count: NodeCount = { nodes: 0, faults: 0 };
    return isSound(value, 1, "", count, report) ? value : undefined;
  },
  fromText: () => undefined,
  rules: () => () => {},
  compare: () => 0,
  token: () => null,
  jsonSchema: () => ({ description: "Any JSON value." }),
};

interface NodeCount {
  nodes: number;
  faults: number;
}

function isSound(
  value: unknown,
  depth: number,
  path: string,
  count: NodeCount,
  report: Report,
): value is Json {
  const fail = (code: string, message: string): false => {
    count.faults++;
    report(code, message, path);
    return false;
  };
  if (++count.nodes > MAX_JSON_NODES) {
    path = "";
    return fail("too_big", `must contain at most ${MAX_JSON_NODES} values`);
  }
  switch (typeof value) {
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) || fail("range", "must be a number in double precision");
    case "string": {
      const flaw = textFlaw(value);
      return flaw === undefined || fail("text", flaw);
    }
    case "object":
      break;
    default:
      return fail("type", "must be a JSON value");
  }
  if (value === null) return true;
  if (depth > MAX_JSON_DEPTH) return fail("too_deep", `must be nested at most ${MAX_JSON_DEPTH} levels deep`);
  let sound = true;
  for (const [key, item] of Object.entries(value)) {
    if (count.nodes > MAX_JSON_NODES || count.faults > 50) return false;
    const below = `${path}/${escapeSegment(key)}`;
    // Only encrypted values, which are stored as objects, may have the property `$sealed`.
    if (key === "__proto__" || key === "$sealed" || textFlaw(key) !== undefined || characters(key) > 1_000) {
      count.faults++;
      report("text", "is not an allowed property name", below);
      sound = false;
      continue;
    }
    if (!isSound(item, depth + 1, below, count, report)) sound = false;
  }
  return sound;
}
