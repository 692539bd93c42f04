/** The command `orb search`. */
import { transportIn } from "../../shared/client/changes.ts";
import { type FoundEntry, searchOrb } from "../../shared/client/found.ts";
import type { Context } from "./command/context.ts";
import { pagesOf } from "./command/pages.ts";

interface SearchCommand {
  orb: string;
  text: string;
  limit: number;
  draft: boolean;
  locale: string | undefined;
  change: string | undefined;
}

/** Returns the lines for an entry: where it is, its title, and the text around the words. */
function linesOf({ module, schema, id, title, snippet }: FoundEntry): string[] {
  const text = snippet.map((part) => (part.match === true ? `[${part.text}]` : part.text)).join("");
  const place = `${module}/${schema} ${id}`;
  return [title === null ? place : `${place}  ${title}`, ...(text === "" ? [] : [`    ${text}`])];
}

/** Searches the entries of all schemas of an orb. */
export async function searchEntries(context: Context, command: SearchCommand): Promise<number> {
  const { orb, text, limit, draft, locale = "*", change } = command;
  const transport = change === undefined ? context.transport : transportIn(context.transport, change);
  const found: FoundEntry[] = [];
  let complete = true;
  const pages = pagesOf((at) =>
    searchOrb(transport, `/api/${encodeURIComponent(orb)}`, text, {
      ...{ limit: Math.min(50, limit - found.length), locale, revision: draft ? "latest" : "published" },
      ...at,
    }),
  );
  for await (const page of pages) {
    found.push(...page.items);
    complete &&= page.complete;
    if (found.length >= limit) break;
  }
  context.result({ items: found, complete }, () =>
    found.length === 0 ? "Nothing was found." : found.flatMap(linesOf),
  );
  if (!complete)
    context.note("Of some schemas, only the newest entries were compared. Give fields search: true.");
  return 0;
}
