/** Serves readers over the broker connection of their request, or redirects them to the streams process. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { takeOrbReader, takeReader } from "../../shared/quotas/readers.ts";
import { readerOf } from "../../shared/streams/caller.ts";
import { Hub, type HubOptions } from "../../shared/streams/read/index.ts";
import { toResponse } from "../../shared/streams/response.ts";
import type { Answer } from "../../shared/streams/serve.ts";
import { DEFINITION, issueTicket, TICKET } from "../../shared/streams/ticket.ts";
import { type AppEnv, holdConnection } from "../request/context.ts";

/** Milliseconds between two keep-alive messages. Only a write shows the runtime that the client has disconnected. */
const KEEP_ALIVE_MS = 2_000;

/**
 * Redirects to the streams process, with a ticket that identifies the caller.
 * @param name what the ticket is for: the name of a stream, or the path of a list
 * @param definition the revision whose shape the list has. A browser does not send the header after a redirect.
 */
export async function handOver(
  c: Context<AppEnv>,
  actor: Actor,
  {
    streamsUrl,
    path,
    name,
    definition,
  }: { streamsUrl: string; path: string; name: string; definition?: number | undefined },
): Promise<Response> {
  const { deps } = c.var;
  const ticket = await issueTicket(deps.config, actor, name, deps.clock.now(), await readerOf(deps, actor));
  const { searchParams } = new URL(c.req.url);
  searchParams.delete("realm");
  searchParams.set(TICKET, ticket);
  if (definition !== undefined) searchParams.set(DEFINITION, String(definition));
  const location = `${streamsUrl.replace(/\/+$/, "")}${path}?${searchParams}`;
  return c.body(null, 307, { location, "cache-control": "no-store" });
}

/**
 * Serves one reader, and releases the broker connection at the end of the response.
 * @param waits whether the response waits for messages. Then the reader counts for the quotas.
 */
export async function serveReader(
  c: Context<AppEnv>,
  actor: Actor,
  { waits, limits }: { waits: boolean; limits?: HubOptions["limits"] },
  answer: (hub: Hub) => Promise<Answer>,
): Promise<Response> {
  const { deps } = c.var;
  const readers: (() => Promise<void>)[] = [];
  const hub = new Hub(deps.store, {
    ...(limits === undefined ? {} : { limits }),
    times: { longPollMs: deps.config.longPollMs, keepAliveMs: KEEP_ALIVE_MS },
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
    if (waits) readers.push(await takeReader(deps, actor, (await readerOf(deps, actor)).userId));
    return toResponse(await answer(hub), c.req.raw.signal, ended);
  } catch (error) {
    ended();
    throw error;
  }
}
