/** Reads the entries that a migration has made. */
import { expect } from "vitest";
import { call } from "./auth.ts";
import type { Ran } from "./orb-command.ts";

export interface MigratedEntry {
  id: string;
  status: string;
  revision: number;
  publishedRevision: number | null;
  createdAt: string;
  createdBy: string;
  validFrom: string | null;
  values: Record<string, unknown> & { sourceId: string };
}

/** Returns the entries of a schema by their ids in the other system, in the order of their creation here. */
export async function migratedEntries(
  platform: { origin: string },
  token: string,
  orb: string,
  schema: string,
): Promise<Map<string, MigratedEntry>> {
  const path = `/api/admin/orbs/${orb}/entries?module=content&schema=${schema}&limit=200`;
  const { body, status } = await call(platform, "GET", path, { token });
  expect(status, JSON.stringify(body)).toBe(200);
  return new Map(body.items.map((one: MigratedEntry) => [one.values.sourceId, one]));
}

interface Told {
  schemas: Record<"stored" | "source" | "values" | "equal" | "files" | "equalFiles", number>[];
  differences: unknown[];
  losses: { kind: string; at: string; why: string }[];
}

/**
 * Expects that a migration has carried all entries, values and files.
 * @returns what it could not carry as it was
 */
export function expectParity(
  ran: Ran,
  { entries, files }: { entries: number; files: number },
): Told["losses"] {
  expect(ran.out, ran.err).toContain('"differences"');
  const { schemas, differences, losses }: Told = JSON.parse(ran.out);
  expect(differences).toEqual([]);
  const sum = (name: keyof Told["schemas"][number]) => schemas.reduce((all, one) => all + one[name], 0);
  const sums = [sum("source"), sum("stored"), sum("files"), sum("equalFiles")];
  expect(sums).toEqual([entries, entries, files, files]);
  expect(sum("equal")).toBe(sum("values"));
  return losses;
}
