/** The tools with which an agent proposes changes: it writes into a change set, which people review and publish. */
import { z } from "zod";
import type { Transport } from "../../shared/client/transport.ts";
import type { ToolResult, ToolServer } from "./protocol.ts";

export const VALUES = z
  .record(z.string(), z.unknown())
  .describe('Values by field name. Rich text: {"markdown": "# Title"}');

/** What the tools for change sets share with the other tools. */
export interface ChangeTools {
  server: ToolServer;
  transport: Transport;
  inOrb: { orb?: z.ZodString };
  inCollection: { orb?: z.ZodString; collection: z.ZodType<string> };
  place: { locale: z.ZodOptional<z.ZodString>; market: z.ZodOptional<z.ZodString> };
  /** The id of an entry. */
  id: z.ZodString;
  /** Returns the application that an input names. */
  idOf: (input: object) => string;
  answer: (act: () => Promise<unknown>) => Promise<ToolResult>;
}

const change = z
  .string()
  .regex(/^[^./]+$/)
  .describe("Id of the change set, from open_change");

export function addChangeTools(tools: ChangeTools): void {
  const { server, inOrb, answer } = tools;
  const send = sender(tools);
  server.registerTool(
    "open_change",
    {
      description: "Opens a change set, to propose changes that people review and publish together.",
      inputSchema: z.strictObject({
        ...inOrb,
        title: z.string().describe("Name for people, such as Spring sale"),
        description: z.string().optional().describe("What the changes are for"),
      }),
    },
    ({ title, description, ...input }) =>
      answer(() => send(input, "POST", "changes", { body: { title, description } })),
  );
  addPropose(tools);
  addProposeTogether(tools);
  server.registerTool(
    "diff",
    {
      description:
        "Compares the entries of a change set with those that are live. Follow nextCursor for further entries.",
      inputSchema: z.strictObject({
        ...inOrb,
        change,
        limit: z.int().min(1).max(50).default(10),
        cursor: z.string().optional().describe("nextCursor of the page before"),
      }),
      annotations: { readOnlyHint: true },
    },
    ({ change: id, limit, cursor, ...input }) =>
      answer(() =>
        send(input, "GET", `changes/${encodeURIComponent(id)}/diff`, {
          query: { limit: String(limit), ...(cursor === undefined ? {} : { cursor }) },
        }),
      ),
  );
  server.registerTool(
    "request_review",
    {
      description: "Asks people to review a change set. Call it when the set is complete.",
      inputSchema: z.strictObject({ ...inOrb, change }),
    },
    ({ change: id, ...input }) =>
      answer(() => send(input, "POST", `changes/${encodeURIComponent(id)}/review`)),
  );
}

interface Sent {
  body?: unknown;
  query?: Record<string, string>;
  headers?: Record<string, string>;
}

/** Returns a function that sends a request below the path of an application, and returns the body of the response. */
function sender({ transport, idOf }: ChangeTools) {
  return async (
    input: object,
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    { query = {}, ...sent }: Sent = {},
  ): Promise<unknown> => {
    const response = await transport.send({
      method,
      path: `/api/${encodeURIComponent(idOf(input))}/${path}`,
      query: new URLSearchParams(query),
      repeat: method === "GET" ? "safe" : "refused",
      ...sent,
    });
    return response.status === 204 ? { done: true } : response.json();
  };
}

function addPropose(tools: ChangeTools): void {
  const { server, inCollection, place, id, answer } = tools;
  const send = sender(tools);
  server.registerTool(
    "propose",
    {
      description:
        "Writes an entry into a change set: without id a new entry, with id some values of an existing one, with delete its deletion. Nothing changes for readers until people publish the set.",
      inputSchema: z
        .strictObject({
          ...inCollection,
          change,
          id: id.optional(),
          values: VALUES.optional(),
          delete: z.literal(true).optional().describe("Propose to delete the entry"),
          ...place,
        })
        .refine((input) => input.delete === undefined || input.id !== undefined, {
          path: ["id"],
          error: "is required beside delete",
        }),
    },
    ({ change: set, id: entry, values = {}, delete: remove, locale, market, ...input }) =>
      answer(() => {
        const collection = String(input.collection).split("/", 2).map(encodeURIComponent).join("/");
        const path = entry === undefined ? collection : `${collection}/${encodeURIComponent(entry)}`;
        if (remove === true && entry !== undefined)
          return send(input, "DELETE", path, { query: { change: set } });
        const query = {
          change: set,
          richText: "markdown",
          locale: locale ?? "*",
          ...(market === undefined ? {} : { market }),
        };
        return send(input, entry === undefined ? "POST" : "PATCH", path, { query, body: { values } });
      }),
  );
}

const CONTENT = { values: VALUES, locale: z.string().optional(), market: z.string().optional() };
const ENTRY = z.string().describe("module/schema/id");

const items = z
  .array(
    z.union([
      z.strictObject({
        create: z.string().describe("module/schema"),
        as: z.string().optional().describe('Name for {"$ref": name} in other items'),
        ...CONTENT,
      }),
      z.strictObject({
        update: ENTRY,
        ...CONTENT,
        values: VALUES.optional(),
        add: z.record(z.string(), z.number()).optional().describe("Numbers to add, by field"),
      }),
      z.strictObject({ delete: ENTRY }),
    ]),
  )
  .min(1)
  .max(200);

function addProposeTogether(tools: ChangeTools): void {
  const { server, inOrb, answer } = tools;
  const send = sender(tools);
  server.registerTool(
    "propose_together",
    {
      description:
        'Writes several entries into a change set at once: all items, or none. A reference to an entry that another item creates is {"$ref": name}, with the name from its as.',
      inputSchema: z.strictObject({ ...inOrb, change, do: items }),
    },
    ({ change: set, do: together, ...input }) =>
      answer(() => send(input, "POST", "batch", { query: { change: set }, body: { do: together } })),
  );
}
