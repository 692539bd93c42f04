/** Keys that tell which clients can share a live list: those with the same definition key and the same rights key. */
import { accountOf } from "../../access/actor.ts";
import { may } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import type { ListView } from "../../entry/live/index.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { sha256 } from "../../kernel/ids.ts";

const keys = new WeakMap<CompiledSchema, Promise<string>>();

/** Returns a key that changes with every part of the definition that may affect a list of the schema. */
export function definitionKey({ compiled }: OrbContext, { home }: CompiledSchema): Promise<string> {
  const schema = compiled.byHome.get(homeKey(home));
  if (schema === undefined) return Promise.resolve("");
  const known = keys.get(schema);
  if (known !== undefined) return known;
  const { modules: _, ...document } = compiled.document;
  const made = sha256(JSON.stringify([document, schema.module, schema.moduleType, schema.definition]));
  keys.set(schema, made);
  return made;
}

/** Returns a key that is the same for all callers who see the same entries and values in a list. */
export function rightsKey({ reading: { caller, schema, latest } }: ListView): string {
  const everybody = may(caller, "read", { access: schema.access, own: false });
  if (everybody && !latest && !schema.narrowed.read) return "all";
  const { role, orbRole, scope } = caller;
  return JSON.stringify([accountOf(caller.actor), role, orbRole, scope]);
}
