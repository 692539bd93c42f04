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
 * The description of a list does not mention the events of live lists. Otherwise generated clients would have to
 * handle two kinds of responses.
 */
export const LiveRedirect = { description: "Redirect of a live list to the streams process" };
