/** The tools that an agent can call. Each tool sends requests to the platform's API with the agent's token. */
import { z } from "zod";
import { transportIn } from "../../shared/client/changes.ts";
import { collection } from "../../shared/client/collection.ts";
import type { Collection } from "../../shared/client/methods.ts";
import { Problem } from "../../shared/client/problem.ts";
import type { Transport } from "../../shared/client/transport.ts";
import type { AnyOrbs, Fields, Mode, OrbTypes } from "../../shared/client/types.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import type { OrbView } from "../discovery/overview-schemas.ts";
import { addChangeTools, VALUES } from "./changes.ts";
import { addFileTools } from "./files.ts";
import { type ToolResult, ToolServer } from "./protocol.ts";
import { addSearchTool } from "./search.ts";

/** Maximum characters of a tool's result. A longer result would use too much of the model's context window. */
const RESULT_LIMIT = 50_000;
const PAGE = { default: 10, max: 50 } as const;

/** Orbs per page of `describe`. */
const ORBS = { default: 50, max: 200 } as const;
const orbPage = {
  limit: z.int().min(1).max(ORBS.max).default(ORBS.default).describe("Orbs per page"),
  cursor: z.string().optional().describe("nextCursor of the page before"),
};

const INSTRUCTIONS = `Orbs are applications with modules, schemas and entries. A collection is module/schema.
Call describe first: it lists collections, fields and handlers. To change content, open a change set with open_change,
write into it with propose or propose_together, look at it with diff, and call request_review: people then approve and
publish it. Only if you were asked to write without a review, use create_draft, update_draft and publish_entry. Values of translatable fields are maps from language to value, unless you name a locale.
Rich text is read as Markdown, and written as {"markdown": "…"}. Keep lines such as <!-- gallery k1 -->: they stand for blocks.`;

/** Models read and write Markdown better than Portable Text. */
const MARKDOWN = { richText: "markdown" } as const;

type Entries = Collection<AnyOrbs, OrbTypes, Fields, Mode>;

/** The transport that the tools use, and the application that they are limited to. */
export interface Site {
  transport: Transport;
  /** The application that the tools are limited to. Undefined on the route for all applications. */
  orb: OrbView | undefined;
}

function result(value: unknown): ToolResult {
  const text = JSON.stringify(value);
  if (text.length > RESULT_LIMIT) {
    const advice = `The result has ${text.length} characters, more than ${RESULT_LIMIT}. Ask for less: use limit, fields or filter.`;
    return { content: [{ type: "text", text: advice }], isError: true };
  }
  return { content: [{ type: "text", text }] };
}

/**
 * Returns the error as text, so that the model can correct its call. Rethrows errors that do not come from the API.
 */
function failure(error: unknown): ToolResult {
  if (!(error instanceof Problem)) throw error;
  const faults = error.errors.map(({ path, message }) => `${path} ${message}`);
  const text = [`${error.message} (${error.code})`, ...faults].join("\n");
  return { content: [{ type: "text", text }], isError: true };
}

async function answer(act: () => Promise<unknown>): Promise<ToolResult> {
  try {
    return result(await act());
  } catch (error) {
    return failure(error);
  }
}

/** Returns the part of an application's overview that a model needs to choose a collection. */
const brief = ({ id, name, description, languages, markets, modules, handlers }: OrbView) => ({
  id,
  name,
  description,
  languages,
  markets,
  collections: modules.flatMap((module) =>
    module.schemas.filter(({ href }) => href !== null).map((schema) => `${module.id}/${schema.id}`),
  ),
  handlers: handlers.map((handler) => handler.name),
});

/** A segment of a path. Without dots, so that `..` cannot lead to the path of another operation. */
const SEGMENT = z.string().regex(/^[^./]+$/);
const COLLECTION = z.string().regex(/^[^./]+\/[^./]+$/);

/** Returns a schema that accepts only the given names. If there are none, it accepts what `otherwise` accepts. */
function oneOf(names: readonly string[], otherwise: z.ZodString, description: string) {
  const [first, ...others] = names;
  const schema = first === undefined ? otherwise : z.enum([first, ...others]);
  return schema.describe(description);
}

/** What the tool `query_entries` takes, like the parameters of a list. */
const LISTING = {
  filter: z.record(z.string(), z.unknown()).optional(),
  search: z
    .string()
    .optional()
    .describe("Words in fields with `search`. Without sort, the best matches come first"),
  sort: z
    .string()
    .optional()
    .describe("Field names, separated by commas. A leading - sorts in descending order"),
  limit: z.int().min(1).max(PAGE.max).default(PAGE.default),
  cursor: z.string().optional().describe("nextCursor of the page before"),
  fields: z.array(z.string()).optional().describe("The only fields to return"),
  expand: z.array(z.string()).optional().describe("Reference fields whose entries to include"),
  count: z.boolean().optional().describe("Also return the total"),
  aggregate: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'Computes instead of listing: {"total":"sum(price)","n":"count"}; count, sum, avg, min, max. Not with sort, limit, fields, expand, count',
    ),
  group: z.array(z.string()).optional().describe("Fields by whose values to aggregate"),
};

/**
 * Creates the tools for one request. If the request is limited to one application, the tools' input schemas list the
 * application's collections.
 */
export function toolServer({ transport, orb }: Site): ToolServer {
  const server = new ToolServer({ name: orb?.id ?? "composable-platform", version: VERSION }, INSTRUCTIONS);
  const known = orb === undefined ? undefined : brief(orb);
  const inOrb = orb === undefined ? { orb: SEGMENT.describe("Id of the orb") } : {};
  const inCollection = {
    ...inOrb,
    collection: oneOf(known?.collections ?? [], COLLECTION, "module/schema, such as catalog/product"),
  };
  const place = {
    locale: z
      .string()
      .optional()
      .describe("Language, such as en. Without it, values are maps of all languages"),
    market: z.string().optional().describe("Market, such as US"),
  };
  const change = SEGMENT.optional().describe("Id of a change set: shows what it will leave");
  const id = SEGMENT.describe("Id of the entry");
  const revision = z.int().min(1).describe("The newest revision that you have read");

  const idOf = (input: object) => orb?.id ?? String(Reflect.get(input, "orb"));
  const entriesOf = (input: { collection: string; change?: string | undefined }): Entries => {
    const path = input.collection.split("/", 2).map(encodeURIComponent).join("/");
    const within = input.change === undefined ? transport : transportIn(transport, input.change);
    return collection(within, `/api/${encodeURIComponent(idOf(input))}/${path}`, {}) as unknown as Entries;
  };
  const read = async <T>(path: string, query: Record<string, string> = {}): Promise<T> => {
    const request = { method: "GET", path, query: new URLSearchParams(query), repeat: "safe" } as const;
    return (await (await transport.send(request)).json()) as T;
  };

  server.registerTool(
    "describe",
    {
      description:
        "Lists orbs with their collections and handlers. For one orb, also the fields and their rules. A list with a nextCursor has further pages.",
      inputSchema: z.strictObject(orb === undefined ? { orb: z.string().optional(), ...orbPage } : {}),
      annotations: { readOnlyHint: true },
    },
    (input) =>
      answer(async () => {
        const one = orb?.id ?? (Reflect.get(input, "orb") as string | undefined);
        const { limit = ORBS.default, cursor }: { limit?: number; cursor?: string | undefined } = input;
        const page = { limit: String(limit), ...(cursor === undefined ? {} : { cursor }) };
        const query: Record<string, string> = one === undefined ? page : { orb: one };
        const found = await read<{ orbs: OrbView[]; nextCursor: string | null }>("/api/discovery", query);
        if (one !== undefined) return found.orbs[0];
        return { orbs: found.orbs.map(brief), nextCursor: found.nextCursor };
      }),
  );
  server.registerTool(
    "query_entries",
    {
      description:
        'Lists entries. filter: {"price":{"gte":10},"state":"open"}; operators eq, ne, in, gt, gte, lt, lte, contains, startsWith, null. Groups: {"or":[{"state":"open"},{"price":{"gte":10}}],"not":{"state":"done"}}. A page can be shorter than limit: follow nextCursor.',
      inputSchema: z.strictObject({ ...inCollection, ...LISTING, change, ...place }),
      annotations: { readOnlyHint: true },
    },
    ({ limit, ...input }) => answer(() => entriesOf(input).list(listed(input, limit) as never)),
  );
  server.registerTool(
    "get_entry",
    {
      description: "Reads one entry: the live revision, or the newest revision with draft.",
      inputSchema: z.strictObject({
        ...inCollection,
        id,
        draft: z.boolean().default(false),
        change,
        ...place,
      }),
      annotations: { readOnlyHint: true },
    },
    ({ draft, ...input }) =>
      answer(() =>
        entriesOf(input).get(input.id, {
          revision: draft ? "latest" : "published",
          ...MARKDOWN,
          ...(input.locale === undefined ? {} : { locale: input.locale }),
          ...(input.market === undefined ? {} : { market: input.market }),
        }),
      ),
  );
  server.registerTool(
    "create_draft",
    {
      description: "Creates an entry as a draft. Readers see the entry only after publish_entry.",
      inputSchema: z.strictObject({ ...inCollection, values: VALUES, ...place }),
    },
    (input) =>
      answer(() => entriesOf(input).create(input.values as never, { ...wishOf(input), ...MARKDOWN })),
  );
  server.registerTool(
    "update_draft",
    {
      description:
        "Writes a new draft of an entry. Values that you do not name stay. Readers still see the live revision.",
      inputSchema: z.strictObject({ ...inCollection, id, revision, values: VALUES, ...place }),
      annotations: { idempotentHint: true },
    },
    (input) =>
      answer(() =>
        entriesOf(input).update({ id: input.id, revision: input.revision }, input.values as never, {
          ...wishOf(input),
          ...MARKDOWN,
        }),
      ),
  );
  server.registerTool(
    "publish_entry",
    {
      description: "Publishes the newest draft of an entry. Needs a token with the scope publish.",
      inputSchema: z.strictObject({ ...inCollection, id, revision }),
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    (input) => answer(() => entriesOf(input).publish({ id: input.id, revision: input.revision }, MARKDOWN)),
  );
  addSearchTool({ server, transport, inOrb, paging: LISTING, change, idOf, answer });
  addFileTools({ server, transport, inOrb, paging: LISTING, idOf, answer });
  addChangeTools({ server, transport, inOrb, inCollection, place, id, idOf, answer });
  server.registerTool(
    "entry_history",
    {
      description:
        "Lists the revisions of an entry, newest first. Name the collection. Only platform admins can leave it out.",
      inputSchema: z.strictObject({
        ...inOrb,
        collection: inCollection.collection.optional(),
        id,
        limit: z.int().min(1).max(PAGE.max).default(PAGE.default),
      }),
      annotations: { readOnlyHint: true },
    },
    (input) =>
      answer(() => {
        const { collection, limit } = input;
        if (collection !== undefined)
          return entriesOf({ ...input, collection }).revisions(input.id, { limit });
        const path = `/api/admin/orbs/${encodeURIComponent(idOf(input))}/entries/${encodeURIComponent(input.id)}/revisions`;
        return read(path, { limit: String(limit), sort: "-revision" });
      }),
  );
  server.registerTool(
    "call_handler",
    {
      description: "Calls a handler of an orb. describe shows the JSON Schema of its input.",
      inputSchema: z.strictObject({
        ...inOrb,
        handler: oneOf(known?.handlers ?? [], z.string(), "service.handler"),
        input: z.record(z.string(), z.unknown()).default({}),
      }),
      annotations: { openWorldHint: true },
    },
    (input) =>
      answer(async () => {
        // Include the service in the path. The handler's name alone is ambiguous if two services have a handler of the
        // same name.
        const named = input.handler.split(".").map(encodeURIComponent).join("/");
        const path = `/api/${encodeURIComponent(idOf(input))}/call/${named}`;
        const sent = await transport.send({ method: "POST", path, body: input.input, repeat: "refused" });
        return sent.json();
      }),
  );
  return server;
}

/** Returns the query of a list. An aggregation has no values to show. */
const listed = (input: { aggregate?: unknown }, limit: number) =>
  input.aggregate === undefined ? { limit, ...input, ...MARKDOWN } : input;

function wishOf({ locale, market }: { locale?: string | undefined; market?: string | undefined }) {
  return { ...(locale === undefined ? {} : { locale }), ...(market === undefined ? {} : { market }) };
}
