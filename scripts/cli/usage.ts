/** The command `orb usage`: shows what is asked of an orb, what fails, which lists are slow, and how much it stores. */
import type { Usage } from "../../shared/usage/counts.ts";
import { type Context, manage } from "./command/context.ts";

function listOf({ module, schema, conditions, sort }: Usage["lists"][number]): string {
  const filters = conditions.map(({ field, operator }) => `${field} ${operator}`).join(" and ");
  const parts = [
    filters === "" ? "" : `filter by ${filters}`,
    sort.length > 0 ? `sort by ${sort.join()}` : "",
  ];
  return `${module}/${schema}: ${parts.filter((part) => part !== "").join(", ")}`;
}

function lines({ since, requests, failed, errors, lists, storage }: Usage): string[] {
  const { entries, revisions, bytes, fileBytes } = storage;
  return [
    `Since ${since}: ${requests} requests, ${failed} of them failed.`,
    `Stores ${entries} entries with ${revisions} revisions in ${bytes} bytes, and ${fileBytes} bytes of files.`,
    ...errors.map(
      ({ status, code, method, route, count, requestId, at }) =>
        `${count} × ${status} ${code}  ${method} ${route}  (last ${at}, request ${requestId})`,
    ),
    ...lists.map((list) => `${list.count} × without an index  ${listOf(list)}: read ${list.read} entries`),
  ];
}

export async function showUsage(context: Context, orb: string, hours: number | undefined): Promise<number> {
  const query = hours === undefined ? "" : `?hours=${hours}`;
  const path = `/api/admin/orbs/${encodeURIComponent(orb)}/usage${query}`;
  const usage = await manage<Usage>(context, "GET", path);
  context.result(usage, () => lines(usage));
  return 0;
}
