/** Encrypts stored sensitive values again after the encryption keys have changed. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { type RekeyProgress, rekeyEntries } from "../../shared/entry/index.ts";
import type { AppEnv } from "../request/context.ts";
import { definition } from "./entry-schemas.ts";

export const RekeySchema = z
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

export async function rekey(c: Context<AppEnv>): Promise<Response> {
  const orb = await definition(c);
  let result: RekeyProgress = { entries: 0, resealed: 0, failed: [], conflicts: [] };
  for await (const progress of rekeyEntries(c.var.deps, c.var.actor, { orb })) result = progress;
  return c.json(result, 200);
}
