/** C: an orb with its entries as one JSON Lines stream, out and in. */
import { z } from "@hono/zod-openapi";
import { exportOrb } from "../../shared/orb/transfer/export.ts";
import { importOrb } from "../../shared/orb/transfer/import.ts";
import { orbView } from "../../shared/orb/view.ts";
import { type AdminPrefix, adminRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { Location, OrbIdParam, RevisionTag } from "../http/schemas.ts";
import { parseJson } from "../middleware/body.ts";
import { readLines } from "../middleware/lines.ts";
import { stillPlatformAdmin } from "../middleware/session.ts";
import { keepStore } from "../request/context.ts";
import { orbHeaders } from "./orbs.ts";
import { OrbSchema } from "./orbs-schemas.ts";

const TYPE = "application/x-ndjson";
/** A line holds at most two revisions of an entry, sealed. */
const LINE_LIMIT = 4 * 1024 * 1024;

/** Routes of export and import below one prefix. */
export function orbTransferRoutes(prefix: AdminPrefix) {
  const shared = adminRoute(prefix, "Orbs");
  const router = newRouter();

  const read = defineRoute({
    ...shared,
    method: "get",
    path: `${prefix}/{orbId}/export` as const,
    operationId: "exportOrb",
    summary: "Export an orb with its entries as JSON Lines",
    description:
      "A line `orb`, a line per entry (its newest revision, and the live one where that is another), and a line `end` with their number: without it the file was cut off. Sensitive values stay sealed: whoever imports needs the same keys.",
    request: { params: OrbIdParam },
    responses: { 200: { description: "JSON Lines", content: { [TYPE]: { schema: z.string() } } } },
    problems: [401, 403, 404],
  });
  router.openapi(read, async (c) => {
    const { orbId } = c.req.valid("param");
    const lines = await exportOrb(c.var.deps, c.var.actor, { orb: orbId });
    const { log } = c.var.deps;
    const release = keepStore(c);
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const line = await lines.next();
          if (line.done === true) {
            controller.close();
            release();
          } else controller.enqueue(encoder.encode(`${JSON.stringify(line.value)}\n`));
        } catch (error) {
          // Without an end line the reader knows that something is missing.
          log.error("an export stopped", { orb: orbId, error: String(error) });
          controller.close();
          release();
        }
      },
      async cancel() {
        await lines.return(undefined);
        release();
      },
    });
    c.header("content-disposition", `attachment; filename="${orbId}.jsonl"`);
    c.header("cache-control", "no-store");
    return c.body(body, 200, { "content-type": `${TYPE}; charset=utf-8` }) as never;
  });

  const write = defineRoute({
    ...shared,
    method: "post",
    path: `${prefix}/import` as const,
    operationId: "importOrb",
    summary: "Create an orb from an export",
    description:
      "With the same ids, authors, times, states and entries' revision numbers. The orb itself begins with revision 1, or goes on after an earlier orb of this id. All or nothing. Your access is checked again while the file comes; when it ends, nothing is imported.",
    request: { body: { required: true, content: { [TYPE]: { schema: z.string() } } } },
    responses: {
      201: {
        description: "Created",
        headers: { ...RevisionTag, ...Location },
        content: { "application/json": { schema: z.object({ orb: OrbSchema, entries: z.int() }) } },
      },
    },
    problems: [400, 401, 403, 409, 413, 415, 422],
  });
  router.openapi(write, async (c) => {
    const lines = readLines(c, { limit: LINE_LIMIT });
    const imported = await importOrb(c.var.deps, c.var.actor, {
      lines,
      parse: parseJson,
      authority: () => stillPlatformAdmin(c),
    }).finally(() => lines.return(undefined));
    orbHeaders(c, imported.orb);
    c.header("location", `${prefix}/${imported.orb.document.id}`);
    return c.json({ orb: orbView(imported.orb), entries: imported.entries }, 201);
  });
  return router;
}
