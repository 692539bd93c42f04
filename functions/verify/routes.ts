/** Checks the stored data of an application, while the client waits. */
import { z } from "@hono/zod-openapi";
import { knownLosses, orbOfLoss } from "../../shared/definition/stored/index.ts";
import { getOrb } from "../../shared/orb/read.ts";
import { verifyOne } from "../../shared/verify/verify.ts";
import { type AdminPrefix, contentRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { OrbIdParam } from "../http/schemas.ts";
import { holdConnection } from "../request/context.ts";

const TYPE = "application/x-ndjson";
/** Milliseconds between two lines that keep the connection open. */
const KEEP_ALIVE_MS = 5_000;

const Line = z
  .object({
    kind: z.enum(["running", "damage", "end"]),
    stream: z.string().optional(),
    from: z.int().optional().openapi({ description: "First sequence number concerned" }),
    to: z.int().optional().openapi({ description: "Last sequence number concerned" }),
    says: z.string().optional().openapi({ description: "What is missing, or contradicts what" }),
    damages: z.int().optional().openapi({ description: "In the line `end`: the number of damages" }),
  })
  .openapi("VerifyLine");

export function orbVerifyRoutes(prefix: AdminPrefix) {
  const route = defineRoute({
    ...contentRoute(prefix, "entries.export"),
    method: "get",
    path: `${prefix}/{orbId}/verify` as const,
    operationId: "verifyOrb",
    summary: "Check all stored data of an orb",
    description:
      "Reads every message of the orb and of its files. Reports what is missing or contradicts itself, and losses that are known already: a line `damage` for each, up to 1,000, then a line `end` with their number. Lines `running` keep the connection open. If the line `end` is missing, the check is incomplete. Changes nothing.",
    request: { params: OrbIdParam },
    responses: { 200: { description: "JSON Lines", content: { [TYPE]: { schema: Line } } } },
    problems: [401, 403, 404],
  });
  return newRouter().openapi(route, async (c) => {
    const { deps, actor } = c.var;
    const { orbId } = c.req.valid("param");
    await getOrb(deps, actor, { orb: orbId });
    const release = holdConnection(c);
    const encoder = new TextEncoder();
    let isOver = false;
    let timer: ReturnType<typeof setInterval> | undefined;
    const over = () => {
      isOver = true;
      clearInterval(timer);
      release();
    };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const tell = (line: z.infer<typeof Line>) =>
          controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
        timer = setInterval(() => tell({ kind: "running" }), KEEP_ALIVE_MS);
        const run = async () => {
          const losses = (await knownLosses(deps)).filter((loss) => orbOfLoss(loss) === orbId);
          const damages = await verifyOne(deps, actor, orbId);
          if (isOver) return;
          for (const { stream, from, to, says } of [...losses, ...damages.list])
            tell({ kind: "damage", stream, from, to, says });
          tell({ kind: "end", damages: losses.length + damages.total });
        };
        void run()
          // The status was already sent. Without its last line, the client can tell that the check is incomplete.
          .catch((error: unknown) =>
            deps.log.error("the check of an orb failed", { orb: orbId, error: String(error) }),
          )
          .finally(() => {
            if (isOver) return;
            over();
            controller.close();
          });
      },
      cancel: over,
    });
    return c.body(body, 200, {
      "content-type": `${TYPE}; charset=utf-8`,
      "cache-control": "no-store",
    }) as never;
  });
}
