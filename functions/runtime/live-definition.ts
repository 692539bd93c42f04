/** The OpenAPI description of live lists, which send changes until the client disconnects. */
import { z } from "@hono/zod-openapi";

export const Live = {
  live: z.enum(["sse"]).optional().openapi({
    description:
      "`sse`: the answer is `text/event-stream`: all entries that match, then each change. Not with `limit`, `cursor`, `count`, `expand` and `aggregate`",
  }),
};

export const LastEventId = z.object({
  "last-event-id": z
    .string()
    .optional()
    .openapi({ description: "Id of the last received event. A live list continues after it." }),
});

export const LiveRedirect = { description: "Redirect of a live list to the streams process" };

const LiveEvents = z.string().openapi("LiveEvents", {
  description:
    "With `live=sse`: server-sent events. `reset`: forget all entries. `upsert` with an entry as in the list: add or replace it. `leave` with `id`: remove it. `ready`: the list is complete.",
  example: 'event: upsert\nid: 3.x\ndata: {"id":"0"}\n\n',
});

/** Adds the events of a live list to the response of a list. */
export function followed<R extends { content: object }>(response: R) {
  const content = { ...response.content, "text/event-stream": { schema: LiveEvents } };
  return {
    ...response,
    content: content as R["content"] & { "text/event-stream": { schema: typeof LiveEvents } },
  };
}
