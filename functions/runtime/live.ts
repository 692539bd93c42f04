/** Serves live lists: over the request's own broker connection, or by a redirect to the streams process. */
import type { Context } from "hono";
import type { ListInput } from "../../shared/entry/read/index.ts";
import { LiveLists, type SetOfList, serveLiveList } from "../../shared/streams/live/index.ts";
import { STREAM_VARY } from "../../shared/streams/serve.ts";
import type { AppEnv } from "../request/context.ts";
import { handOver, serveReader } from "../streams/reader.ts";

/** @param set the change set within which the list is read */
export async function liveList(
  c: Context<AppEnv>,
  list: ListInput,
  set: SetOfList | undefined,
): Promise<Response> {
  const { deps } = c.var;
  const { actor } = list.reading.caller;
  const { streamsUrl } = deps.config;
  const { pathname, searchParams: params } = new URL(c.req.url);
  const lastEventId = c.req.header("last-event-id");
  const method = c.req.method === "HEAD" ? "HEAD" : "GET";
  const response =
    streamsUrl === undefined
      ? await serveReader(c, actor, { waits: method === "GET" }, (hub) =>
          serveLiveList(new LiveLists(hub), deps, list, { method, params, lastEventId, set }),
        )
      : await handOver(c, actor, { streamsUrl, path: pathname, name: pathname });
  response.headers.set("vary", `Accept-Language, ${STREAM_VARY}`);
  return response;
}
