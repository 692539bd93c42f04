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

/**
 * Documents live lists only as a redirect. If the description included their events, generated clients would have to
 * handle two kinds of responses.
 */
export const LiveRedirect = { description: "Redirect of a live list to the streams process" };
