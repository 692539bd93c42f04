/** Serves live lists: over the request's own broker connection, or by a redirect to the streams process. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { ListInput } from "../../shared/entry/read/list.ts";
import { takeOrbReader, takeReader } from "../../shared/quotas/readers.ts";
import { readerOf } from "../../shared/streams/caller.ts";
import { LiveLists, serveLiveList } from "../../shared/streams/live/serve.ts";
import type { SetOfList } from "../../shared/streams/live/set-list.ts";
import { Hub } from "../../shared/streams/read/hub.ts";
import { toResponse } from "../../shared/streams/response.ts";
import { STREAM_VARY } from "../../shared/streams/serve.ts";
import { issueTicket, TICKET } from "../../shared/streams/ticket.ts";
import { type AppEnv, holdConnection } from "../request/context.ts";

/** Milliseconds between two keep-alive messages. Only a write shows the runtime that the client has disconnected. */
const KEEP_ALIVE_MS = 2_000;
const VARY = `Accept-Language, ${STREAM_VARY}`;

/** Redirects to the streams process, with a ticket that identifies the caller. */
async function handOver(c: Context<AppEnv>, actor: Actor, streamsUrl: string): Promise<Response> {
  const { deps } = c.var;
  const target = new URL(c.req.url);
  const ticket = await issueTicket(
    deps.config,
    actor,
    target.pathname,
    deps.clock.now(),
    await readerOf(deps, actor),
  );
  target.searchParams.set(TICKET, ticket);
  const location = `${streamsUrl.replace(/\/+$/, "")}${target.pathname}${target.search}`;
  return c.body(null, 307, { location, "cache-control": "no-store", vary: VARY });
}

/** @param set the change set within which the list is read */
export async function liveList(
  c: Context<AppEnv>,
  list: ListInput,
  set: SetOfList | undefined,
): Promise<Response> {
  const { deps } = c.var;
  const { actor } = list.reading.caller;
  if (deps.config.streamsUrl !== undefined) return handOver(c, actor, deps.config.streamsUrl);
  const { signal, method, url } = c.req.raw;
  const readers: (() => Promise<void>)[] = [];
  const hub = new Hub(deps.store, {
    times: { keepAliveMs: KEEP_ALIVE_MS },
    now: deps.clock.now,
    admitToOrb: async (orb) => void readers.push(await takeOrbReader(deps, orb)),
  });
  const release = holdConnection(c);
  const ended = (): void => {
    hub.close();
    void Promise.all(readers.map((remove) => remove()))
      .catch((error: unknown) =>
        deps.log.warn("a finished reader could not be removed from the count", { error: String(error) }),
      )
      .finally(release);
  };
  try {
    const head = method === "HEAD";
    if (!head) readers.push(await takeReader(deps, actor, (await readerOf(deps, actor)).userId));
    const answer = await serveLiveList(new LiveLists(hub), deps, list, {
      method: head ? "HEAD" : "GET",
      params: new URL(url).searchParams,
      lastEventId: c.req.header("last-event-id"),
      set,
    });
    const response = toResponse(answer, signal, ended);
    response.headers.set("vary", VARY);
    return response;
  } catch (error) {
    ended();
    throw error;
  }
}
