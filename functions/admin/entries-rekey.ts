/** Admin route that encrypts stored sensitive values again after the encryption keys have changed. */
import { z } from "@hono/zod-openapi";
import { type RekeyProgress, rekeyEntries } from "../../shared/entry/index.ts";
import { type AdminPrefix, entryRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, OrbIdParam } from "../http/schemas.ts";
import { definition } from "./entry-schemas.ts";

const RekeySchema = z
  .object({
    entries: z.int().openapi({ description: "Number of checked entries" }),
    resealed: z
      .int()
      .openapi({ description: "Number of entries with a new revision, encrypted with the first key" }),
    failed: z.array(z.string()).openapi({ description: "Entries that no configured key can decrypt" }),
    conflicts: z.array(z.string()).openapi({
      description: "Entries with a unique value that another entry uses, in the same or another Unicode form",
    }),
  })
  .openapi("RekeyResult");

export function entryRekeyRoutes(prefix: AdminPrefix) {
  const route = defineRoute({
    ...entryRoute(prefix, "entries.rekey"),
    method: "post",
    path: `${prefix}/{orbId}/entries/rekey` as const,
    operationId: "rekeyEntries",
    summary: "Encrypt sensitive values with the current keys",
    description: "For a whole platform or a large orb, use `npm run rekey`. The request can be repeated.",
    request: { params: OrbIdParam },
    responses: { 200: json("Done", RekeySchema) },
    problems: [400, 401, 403, 404],
  });
  return newRouter().openapi(route, async (c) => {
    const orb = await definition(c, c.req.valid("param").orbId);
    let result: RekeyProgress = { entries: 0, resealed: 0, failed: [], conflicts: [] };
    for await (const progress of rekeyEntries(c.var.deps, c.var.actor, { orb })) result = progress;
    return c.json(result, 200);
  });
}
