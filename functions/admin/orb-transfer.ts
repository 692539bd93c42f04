/** Exports and imports an application with its entries as JSON Lines. */
import { z } from "@hono/zod-openapi";
import type { PlatformOperation } from "../../shared/access/credentials/index.ts";
import { exportOrb, importOrb } from "../../shared/orb/transfer/index.ts";
import { orbView } from "../../shared/orb/view.ts";
import { type AdminPrefix, contentRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, Location, OrbIdParam, RevisionTag } from "../http/schemas.ts";
import { parseJson } from "../middleware/body.ts";
import { readLines } from "../middleware/lines.ts";
import { changesRights } from "../middleware/origin.ts";
import { stillPlatformAdmin } from "../middleware/session.ts";
import { holdConnection } from "../request/context.ts";
import { orbHeaders } from "./orb-answers.ts";
import { OrbSchema } from "./orbs-schemas.ts";

const TYPE = "application/x-ndjson";
/** Maximum bytes of a JSON line. A line contains at most two encrypted revisions of an entry. */
const LINE_LIMIT = 4 * 1024 * 1024;

export function orbTransferRoutes(prefix: AdminPrefix) {
  const shared = (operation: PlatformOperation) => contentRoute(prefix, operation);
  const router = newRouter();

  const read = defineRoute({
    ...shared("entries.export"),
    method: "get",
    path: `${prefix}/{orbId}/export` as const,
    operationId: "exportOrb",
    summary: "Export an orb with its entries as JSON Lines",
    description:
      "A line `orb`, then one line per entry with its newest revision (and the live one, if different), then a line `end` with the number of entries. If the `end` line is missing, the export is incomplete. Sensitive values stay encrypted, so the importing platform needs the same keys.",
    request: { params: OrbIdParam },
    responses: { 200: { description: "JSON Lines", content: { [TYPE]: { schema: z.string() } } } },
    problems: [401, 403, 404],
  });
  router.openapi(read, async (c) => {
    const { orbId } = c.req.valid("param");
    const lines = await exportOrb(c.var.deps, c.var.actor, { orb: orbId });
    const { log } = c.var.deps;
    const release = holdConnection(c);
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
          // The status was already sent. Without its last line, the client can tell that the export is incomplete.
          log.error("export failed", { orb: orbId, error: String(error) });
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
    ...changesRights(shared("orbs.import")),
    method: "post",
    path: `${prefix}/import` as const,
    operationId: "importOrb",
    summary: "Create an orb from an export",
    description:
      "Keeps ids, authors, times, statuses and revision numbers of entries. The orb itself starts at revision 1, or continues the numbers of an earlier orb with this id. All or nothing. Your access is checked again during the upload; if it ends, nothing is imported.",
    request: { body: { required: true, content: { [TYPE]: { schema: z.string() } } } },
    responses: {
      201: json("Created", z.object({ orb: OrbSchema, entries: z.int() }), { ...RevisionTag, ...Location }),
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
