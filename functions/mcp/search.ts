/** The tool with which an agent searches the entries of all collections. */
import { z } from "zod";
import { transportIn } from "../../shared/client/changes.ts";
import { type FoundEntry, searchOrb } from "../../shared/client/found.ts";
import type { Transport } from "../../shared/client/transport.ts";
import { QUERY_LIMITS } from "../../shared/entry/query/index.ts";
import type { ToolResult, ToolServer } from "./protocol.ts";

interface SearchTool {
  server: ToolServer;
  transport: Transport;
  /** The member that names the orb, on the route for all orbs. */
  inOrb: Readonly<Record<string, z.ZodString>>;
  paging: { limit: z.ZodDefault<z.ZodInt>; cursor: z.ZodOptional<z.ZodString> };
  change: z.ZodOptional<z.ZodString>;
  idOf: (input: object) => string;
  answer: (act: () => Promise<unknown>) => Promise<ToolResult>;
}

/** Returns an entry that a search found, with its collection as the other tools take it, and the text without marks. */
const foundText = ({ module, schema, id, title, field, snippet }: FoundEntry) => ({
  ...{ collection: `${module}/${schema}`, id, title, field },
  text: snippet.map(({ text }) => text).join(""),
});

/** Adds the tool. */
export function addSearchTool({ server, transport, inOrb, paging, change, idOf, answer }: SearchTool): void {
  server.registerTool(
    "search",
    {
      description:
        "Searches the entries of all collections of an orb for words. Returns collection, id, title and the text around the words, best matches first. Use query_entries to filter one collection.",
      inputSchema: z.strictObject({
        ...inOrb,
        text: z
          .string()
          .min(1)
          .max(QUERY_LIMITS.search)
          .describe("Words; the last may be incomplete. Or an id"),
        limit: paging.limit,
        cursor: paging.cursor,
        draft: z.boolean().default(false).describe("Search the newest drafts"),
        change,
        locale: z.string().default("*").describe("Language, such as en. Without it, all languages"),
      }),
      annotations: { readOnlyHint: true },
    },
    ({ text, draft, change: set, limit, cursor, locale, ...input }) =>
      answer(async () => {
        const within = set === undefined ? transport : transportIn(transport, set);
        const page = await searchOrb(within, `/api/${encodeURIComponent(idOf(input))}`, text, {
          ...{ limit, locale, revision: draft ? "latest" : "published" },
          ...(cursor === undefined ? {} : { cursor }),
        });
        return { ...page, items: page.items.map(foundText) };
      }),
  );
}
