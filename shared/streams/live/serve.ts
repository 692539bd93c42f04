/**
 * Responds to requests for live lists: lists whose changes a client receives while it stays connected. The caller must
 * already be authenticated.
 */
import { type Actor, type ActorToken, credentialOf } from "../../access/actor.ts";
import { accountWith } from "../../access/authenticate.ts";
import { PLATFORM_REALM } from "../../access/authorize.ts";
import { lossHeaders } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import type { ListView } from "../../entry/live/index.ts";
import { shapeHeaders } from "../../entry/pinned/index.ts";
import { relatedIn } from "../../entry/query/index.ts";
import { AppError, type Fault, invalidParameters, unavailable } from "../../kernel/errors.ts";
import { streams } from "../../store/subjects.ts";
import { readerOf } from "../caller.ts";
import type { Hub, StreamState } from "../read/index.ts";
import type { Answer } from "../serve.ts";
import { ChangeFeed } from "./feed.ts";
import { type Beginning, type FollowedList, Follower } from "./follower.ts";
import { LiveList } from "./live-list.ts";
import { SharedPace } from "./pace.ts";
import { PositionSigner } from "./position.ts";
import { definitionKey, rightsKey } from "./rights.ts";
import { SetList, type SetOfList } from "./set-list.ts";

/** Query parameters of ordinary lists that live lists do not support. */
const PAGING = ["limit", "cursor", "count", "expand", "explain", "group", "richText"] as const;

export interface LiveRequest {
  method: "GET" | "HEAD";
  params: URLSearchParams;
  lastEventId: string | undefined;
  /** The change set within which the list is read. */
  set?: SetOfList | undefined;
}

/** All live lists that a host serves. */
export class LiveLists {
  readonly hub: Hub;
  readonly #feeds = new Map<string, ChangeFeed>();
  readonly #lists = new Map<string, LiveList>();
  readonly #pace = new SharedPace();

  constructor(hub: Hub) {
    this.hub = hub;
  }

  /** Number of different lists that clients are currently following. */
  get size(): number {
    return this.#lists.size;
  }

  #feedOf({ reading: { orb, schema } }: ListView): ChangeFeed {
    const key = `${orb.orb}.${schema.home.type}.${schema.home.schema}`;
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new ChangeFeed(this.hub, orb.orb, schema.home);
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  async listOf(deps: Deps, view: ListView, params: URLSearchParams, created: string): Promise<LiveList> {
    const { orb, schema, latest } = view.reading;
    const signed = [
      created,
      orb.orb,
      schema.home,
      queryOf(params),
      view.choice,
      latest,
      rightsKey(view),
      await definitionKey(orb, schema),
      // Lists without a revision have no such member, so that clients can resume those of earlier versions.
      ...(view.pinned === undefined ? [] : [view.pinned.revision]),
    ];
    const key = JSON.stringify(signed);
    let list = this.#lists.get(key);
    if (list === undefined) {
      const signer = new PositionSigner(deps.config.jwtSigningKeys, signed);
      list = new LiveList({
        deps,
        hub: this.hub,
        view,
        feed: this.#feedOf(view),
        signer,
        pace: this.#pace,
        unused: () => this.#remove(key, view),
      });
      this.#lists.set(key, list);
    }
    return list;
  }

  #remove(key: string, { reading: { orb, schema } }: ListView): void {
    this.#lists.delete(key);
    const feed = `${orb.orb}.${schema.home.type}.${schema.home.schema}`;
    const used = [...this.#lists.values()].some((list) => list.feed === this.#feeds.get(feed));
    if (!used) this.#feeds.delete(feed);
  }
}

/** Returns the query parameters that determine the content of the list, in a fixed order. */
function queryOf(params: URLSearchParams): [string, string][] {
  const own = ["live", "realm", "ticket"];
  return [...params].filter(([name]) => !own.includes(name)).sort((a, b) => (a.join() < b.join() ? -1 : 1));
}

function requireWhole(params: URLSearchParams): void {
  const given = [...params.keys()].filter(
    (name) => name.startsWith("aggregate[") || PAGING.some((one) => one === name),
  );
  const errors: Fault[] = [...new Set(given)].map((name) => ({
    path: `/${name}`,
    code: "not_live",
    message: "must not be given with live=sse: a live list has all entries that match, without references",
  }));
  if (errors.length > 0) throw invalidParameters(errors);
}

function notFollowed(): AppError {
  const message =
    "must not compare fields of referenced entries with live=sse, because a live list follows only its own entries";
  return invalidParameters([{ path: "/filter", code: "not_live", message }]);
}

/** Returns a function that checks whether the caller still has the rights that it had when the response started. */
function stillAllowed(deps: Deps, actor: Actor): () => Promise<boolean> {
  if (actor.kind !== "platform" && actor.kind !== "orb") return async () => true;
  const realm = actor.kind === "platform" ? PLATFORM_REALM : actor.realm;
  const holder = { realm, sub: actor.sub, sid: credentialOf(actor), exp: actor.exp };
  const before = rightsOf(actor);
  return async () => {
    try {
      return rightsOf(await accountWith(deps, holder, "cached")) === before;
    } catch (error) {
      if (error instanceof AppError && error.kind === "unauthenticated") return false;
      throw error;
    }
  };
}

function rightsOf(actor: Actor & { token?: ActorToken }): string {
  return JSON.stringify([actor.kind, "role" in actor ? actor.role : "", actor.token?.scopes]);
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "private, no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

const headersOf = ({ pinned, reading: { orb } }: ListView): Record<string, string> => ({
  ...HEADERS,
  ...lossHeaders(orb.fence?.loss),
  ...(pinned === undefined ? {} : shapeHeaders(pinned.orb)),
});

/**
 * A broker that is cut off from the others answers for this many milliseconds at most as if it still were the leader. Its
 * stream then ends before what clients have received from the others.
 */
const CUT_OFF_MS = 30_000;

/**
 * Returns where a client's events begin: after the last event that the client received, or with a snapshot.
 * @throws AppError unavailable if the stream ends before that event, as on a broker that is cut off. A snapshot would
 *   then show older revisions than the client has.
 */
async function beginningOf(
  list: LiveList,
  hub: Hub,
  { last, lags }: { last: number; lags: boolean },
  lastEventId: string | undefined,
): Promise<Beginning> {
  const known = lastEventId === undefined ? undefined : await list.signer.positionIn(lastEventId, hub.now());
  if (known !== undefined && known.seq <= last) return { after: known.seq };
  if (known !== undefined && lags && known.ageMs < CUT_OFF_MS)
    throw unavailable("the stream ends before the client's position");
  return { snapshot: await list.snapshot() };
}

/** Returns the list that a client follows, and where its events begin. */
async function begun(
  lists: LiveLists,
  deps: Deps,
  view: ListView,
  { params, lastEventId, set }: LiveRequest,
  state: StreamState,
  turn: () => Promise<() => void>,
): Promise<{ list: FollowedList; beginning: Beginning }> {
  if (set !== undefined) {
    const list = new SetList(lists.hub, view, set, turn);
    return { list, beginning: { snapshot: await list.snapshot() } };
  }
  const list = await lists.listOf(deps, view, params, state.created);
  return { list, beginning: await beginningOf(list, lists.hub, state, lastEventId) };
}

/**
 * Sends a list, and then each change of it.
 * @throws AppError malformed if a list with these parameters cannot be followed; too_many or unavailable if a limit is
 *   reached
 */
export async function serveLiveList(
  lists: LiveLists,
  deps: Deps,
  view: ListView,
  request: LiveRequest,
): Promise<Answer> {
  const { orb, caller } = view.reading;
  const { actor } = caller;
  const { hub } = lists;
  requireWhole(request.params);
  if (relatedIn(view.query.conditions).length > 0) throw notFollowed();
  hub.requireConnection();
  if (request.method === "HEAD") return { kind: "whole", status: 200, headers: headersOf(view), body: null };
  const { userId, admin, expiresAt } = await readerOf(deps, actor);
  const stream = streams.orb(orb.orb);
  const release = await hub.admit(userId, admin, stream);
  let sent: (() => void) | undefined;
  try {
    const state = await hub.source.state(stream);
    // A snapshot takes memory until it is sent, so limit how many each user may load at the same time.
    const turn = () => hub.pageTurn(userId, admin);
    sent = await turn();
    const { list, beginning } = await begun(lists, deps, view, request, state, turn);
    if (!("snapshot" in beginning)) sent();
    const done = sent;
    return {
      kind: "live",
      headers: headersOf(view),
      start(sink, ended) {
        const follower = new Follower({
          hub,
          list,
          sink,
          beginning,
          expiresAt,
          stillAllowed: stillAllowed(deps, actor),
          begun: done,
          ended: (reason) => {
            done();
            release();
            ended(reason);
          },
        });
        void follower.run();
        return follower;
      },
    };
  } catch (error) {
    sent?.();
    release();
    throw error;
  }
}
