/** The query parameter `change`: reads and writes within a change set. */
import { z } from "@hono/zod-openapi";
import { type Actor, proposing } from "../../shared/access/actor.ts";
import { principalIn, setReader } from "../../shared/access/authorize.ts";
import {
  type Item,
  type ReadContent,
  type ReadingIn,
  readingIn,
  type WithinSet,
  type WritingOptions,
  writingInto,
} from "../../shared/changes/content/index.ts";
import { contextIn } from "../../shared/changes/definition/index.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { homeKey } from "../../shared/definition/document/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { type EntryKey, ownerOf, TakenMeanwhile } from "../../shared/entry/index.ts";
import type { OrbContext } from "../../shared/entry/model/index.ts";
import type { Fault } from "../../shared/kernel/errors.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import type { SetOfList } from "../../shared/streams/live/index.ts";

const change = z.string().optional();

/** For reads. */
export const InChange = {
  change: change.openapi({
    description: "Id of a change set: the entries as the set will leave them, for callers who may read it",
  }),
};
/** For writes. */
export const IntoChange = {
  change: change.openapi({
    description:
      "Id of a change set: the write goes into the set. The entry stays as it is until the set is published",
  }),
};

/**
 * Returns the actor whose scopes decide whether a request may be made at all. If the request writes into a change set,
 * the scope `propose` of its API token is enough.
 */
export function askingIn(actor: Actor, query: Query): Actor {
  return query.change === undefined ? actor : proposing(actor);
}

/**
 * Returns the definition with which a request reads and writes: the one that its change set proposes, or else the live
 * one.
 * @param reader the live definition is returned if this caller may not read the set
 */
export async function definitionIn<T extends OrbContext>(
  deps: Deps,
  live: T,
  change: string | undefined,
  reader?: () => Promise<Actor>,
): Promise<T> {
  return change === undefined ? live : contextIn(deps, live, change, reader);
}

type Query = Readonly<Record<string, string | undefined>>;

/** What a read needs. Outside of a change set, the dependencies only. */
export type ReadingWithin = Pick<ReadingIn, "deps"> & Partial<ReadingIn>;

/** Throws 400 if a request within a change set has one of the parameters. */
function refuse(query: Query, names: readonly string[]): void {
  const faults = names.flatMap((name): Fault[] => {
    if (query[name] === undefined || query[name] === "false") return [];
    return [{ path: `/${name}`, code: "not_applicable", message: "must not be used together with change" }];
  });
  if (faults.length > 0) throw invalidParameters(faults);
}

/**
 * Returns the dependencies and the author of a write, and where it goes: into the change set that the query names, or
 * else into the entry.
 */
export async function writingTo(
  deps: Deps,
  actor: Actor,
  orb: OrbContext | Promise<OrbContext>,
  query: Query,
  options: Pick<WritingOptions, "admits"> = {},
): Promise<{ actor: Actor } & Pick<WithinSet, "deps"> & Partial<WithinSet>> {
  if (query.change === undefined) return { deps, actor };
  refuse(query, ["publish", "purge"]);
  const context = await orb;
  const author = proposing(actor);
  const caller = principalIn(author, context.orb, context.compiled);
  return {
    ...(await writingInto(deps, caller, context, query.change, {
      ...options,
      force: query.force === "true",
    })),
    actor: author,
  };
}

/**
 * Returns what a read needs: within the change set that the query names, if it names one.
 * @param isNewest whether the newest versions are read, also of entries that are not live
 */
export async function readingFrom(
  deps: Deps,
  actor: Actor,
  orb: OrbContext | Promise<OrbContext>,
  query: Query,
  isNewest = false,
): Promise<ReadingWithin> {
  if (query.change === undefined) return { deps };
  refuse(query, ["at", "reveal"]);
  // Others may write into the set, which the host's cache of responses does not follow.
  deps.expires?.(0);
  const context = await orb;
  const principal = principalIn(setReader(actor, query.change), context.orb, context.compiled);
  return readingIn(deps, principal, context, query.change, isNewest ? "newest" : "read");
}

/**
 * Returns what a request needs to find the entries that it is to write: as the change set has them that the query names,
 * if it names one.
 */
export async function selectingFrom(
  deps: Deps,
  actor: Actor,
  orb: OrbContext | Promise<OrbContext>,
  query: Query,
): Promise<ReadingWithin> {
  if (query.change === undefined) return { deps };
  refuse(query, ["publish", "purge"]);
  const context = await orb;
  const author = principalIn(proposing(actor), context.orb, context.compiled);
  return readingIn(deps, author, context, query.change, "select");
}

/** What a verb needs to create or update the entry with a unique value within a change set. */
export interface PuttingInto {
  deps: Deps;
  actor: Actor;
  into?: WithinSet["into"];
  owner?: () => Promise<string | undefined>;
  turn?: string;
}

/**
 * Returns what a request needs to create or update the entry with a unique value: within the change set that the query
 * names, if it names one. A set reserves no unique values. So no entry is created if other entries of the schema were
 * written into the set since the look for the value: then it is looked for again.
 * @param find returns the id of the entry that has the value in a list within the set
 */
export async function puttingTo(
  deps: Deps,
  actor: Actor,
  orb: OrbContext,
  query: Query,
  { schema, key }: { schema: CompiledSchema; key: EntryKey },
  find: (reading: ReadingWithin) => Promise<string | undefined>,
): Promise<PuttingInto> {
  if (query.change === undefined) return { deps, actor };
  let seen: ReadContent | undefined;
  const isHere = (item: Item) => homeKey(item) === homeKey(schema.home);
  const admits: WritingOptions["admits"] = ({ content }) => {
    const known = new Set(seen?.content.items.map(({ id, hash }) => `${id}/${hash}`));
    if (content.items.some((item) => isHere(item) && !known.has(`${item.id}/${item.hash}`)))
      throw new TakenMeanwhile(key);
  };
  const to = await writingTo(deps, actor, orb, query, { admits });
  return {
    ...to,
    turn: `${orb.orb}/_change/${query.change}/by`,
    async owner() {
      seen = await to.renew?.();
      const found = await find(await selectingFrom(deps, actor, orb, query));
      if (found !== undefined) return found;
      // The write checks that the entry which has reserved the value also has it in the set.
      const id = await ownerOf(deps, schema, key, "leader");
      const isGone = seen?.content.items.some((item) => item.id === id && item.act === "delete");
      return isGone === true ? undefined : id;
    },
  };
}

/**
 * Returns what a live list needs to follow a change set; undefined if the request names none.
 * @param isNewest whether the list has the newest versions
 */
export function followedIn(
  deps: Deps,
  actor: Actor,
  orb: OrbContext,
  change: string | undefined,
  isNewest: boolean,
): SetOfList | undefined {
  if (change === undefined) return undefined;
  return {
    id: change,
    open: () => readingFrom(deps, actor, orb, { change }, isNewest),
    definition: (live) => definitionIn(deps, live, change),
  };
}
