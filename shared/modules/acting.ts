import type { HandlerActor } from "../access/actor.ts";
import { principalIn } from "../access/authorize.ts";
import type { CompiledSchema } from "../definition/compile.ts";
import type { LiveOrb } from "../definition/live-orb.ts";
import { requireLive } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import {
  createEntry,
  entryView,
  publishEntry,
  type Target,
  updateEntry,
  type Written,
} from "../entry/index.ts";
import { choose, ofFields, readableIn } from "../entry/model/index.ts";
import { getEntry, Reading } from "../entry/read/index.ts";
import { type Acting, type EntryPlace, schemaOf } from "../handlers/contract/index.ts";
import { notFound } from "../kernel/errors.ts";
import { recordTransaction } from "./transactions/index.ts";

/**
 * Returns the functions that let a handler in this process act on behalf of its caller. Each operation checks the
 * permissions.
 */
export function actingFor(deps: Deps, live: LiveOrb, actor: HandlerActor): Acting {
  const routed = ({ module, schema }: Omit<EntryPlace, "id">): CompiledSchema => {
    const found = live.compiled.modules.get(module)?.routed === true;
    const compiled = found ? live.compiled.schema(module, schema) : undefined;
    if (compiled === undefined) throw notFound("schema");
    return compiled;
  };
  const caller = principalIn(actor, live.orb, live.compiled);
  const renew = () => requireLive(deps, live.orb);
  const target = ({ id, ...place }: EntryPlace): Target => ({
    orbId: live.orb,
    orb: live,
    id,
    schema: routed(place),
    renew,
  });
  const view = ({ snapshot }: Written, place: Omit<EntryPlace, "id">) => {
    const schema = routed(place);
    const values = ofFields(readableIn(schema, caller, snapshot.createdBy), snapshot.values);
    return entryView({ ...snapshot, values }, schema);
  };
  return {
    entries: {
      async get({ id, ...place }, { latest = false, reveal = false } = {}) {
        const schema = routed(place);
        const query = { fields: undefined, expand: [] };
        const choice = choose(schema, { locale: "*" });
        const reading = Reading.of(caller, live, schema, latest);
        return (await getEntry(deps, { reading, id, choice, query, reveal })).entry;
      },
      async create({ values, publish, ...place }) {
        const { module, id: schema } = routed(place);
        const input = { orbId: live.orb, orb: live, module, schema, values, publish, renew };
        return view(await createEntry(deps, actor, input), place);
      },
      async update({ values, publish, ifMatch, ...place }) {
        const input = { ...target(place), values, publish, ifMatch };
        return view(await updateEntry(deps, actor, input), place);
      },
      async publish({ ifMatch, ...place }) {
        return view(await publishEntry(deps, actor, { ...target(place), ifMatch }), place);
      },
    },
    transactions: {
      async record({ values, key, ...place }) {
        const schema = schemaOf(live, "TRANSACTIONS", place);
        return (await recordTransaction(deps, caller, live, schema, { values, key })).record;
      },
    },
  };
}
