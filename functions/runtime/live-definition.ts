/** The parts of the description of lists that are about live lists. */
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

/** Not described as content of the list: clients that tools generate would then have to tell two kinds of answers apart. */
export const LiveRedirect = { description: "Redirect of a live list to the streams process" };
