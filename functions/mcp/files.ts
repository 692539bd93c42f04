/** The tools with which an agent reads the library of files, looks at images, and describes them. */
import { z } from "zod";
import { type Files, filesOf, type LibraryFile } from "../../shared/client/files.ts";
import { Problem } from "../../shared/client/problem.ts";
import type { Transport } from "../../shared/client/transport.ts";
import { QUERY_LIMITS } from "../../shared/entry/query/index.ts";
import { toBase64 } from "../../shared/kernel/base64.ts";
import type { ToolContent, ToolResult, ToolServer } from "./protocol.ts";

interface FileTools {
  server: ToolServer;
  transport: Transport;
  /** The member that names the orb, on the route for all orbs. */
  inOrb: Readonly<Record<string, z.ZodString>>;
  paging: { limit: z.ZodDefault<z.ZodInt>; cursor: z.ZodOptional<z.ZodString> };
  idOf: (input: object) => string;
  answer: (act: () => Promise<unknown>) => Promise<ToolResult>;
}

const id = z
  .string()
  .regex(/^[^./]+$/)
  .describe("Id of the file");
const texts = (what: string) =>
  z
    .record(z.string(), z.string().nullable())
    .optional()
    .describe(`${what} by language: {"en":"…"}; null removes one. Other languages stay`);

/** The variant of images that every file has. */
const THUMBNAIL = "w=320&h=320&fit=contain&format=webp";
/** Types of which the platform makes variants. */
const PICTURE = /^image\/(png|jpeg|webp)$/;

/** Returns what a model needs of a file to choose it. */
const brief = ({ sha256: _hash, createdBy: _by, color: _color, url: _url, ...file }: LibraryFile) => file;

/** Maximum bytes of an original that is shown because the image has no smaller copy. */
const MOST_ORIGINAL = 200_000;

/** Returns a small picture of an image. Undefined for other files, and for large images without a smaller copy. */
async function pictureOf(transport: Transport, file: LibraryFile): Promise<ToolContent | undefined> {
  if (!PICTURE.test(file.type)) return undefined;
  const { pathname: path } = new URL(file.url, "http://localhost");
  const read = async (query: string): Promise<ToolContent | undefined> => {
    try {
      const request = { method: "GET", path, query: new URLSearchParams(query), repeat: "safe" } as const;
      const sent = await transport.send({ ...request, headers: { accept: "*/*" } });
      const data = toBase64(new Uint8Array(await sent.arrayBuffer()));
      return { type: "image", data, mimeType: sent.headers.get("content-type") ?? file.type };
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  };
  return (await read(THUMBNAIL)) ?? (file.size <= MOST_ORIGINAL ? await read("") : undefined);
}

/** Adds the tools. */
export function addFileTools({ server, transport, inOrb, paging, idOf, answer }: FileTools): void {
  const filesIn = (input: object): Files => filesOf(transport, idOf(input));
  server.registerTool(
    "list_files",
    {
      description:
        "Lists the files of an orb, those that changed last first, and the tags of all files. uses: entries that have the file. A page can be shorter than limit: follow nextCursor.",
      inputSchema: z.strictObject({
        ...inOrb,
        search: z.string().max(QUERY_LIMITS.search).optional().describe("Words in name, texts or tags"),
        type: z.string().optional().describe("Media type such as image/png, or image/*"),
        tag: z.string().optional(),
        only: z.enum(["unused", "replaced"]).optional().describe("unused: files that no entry has"),
        ...paging,
      }),
      annotations: { readOnlyHint: true },
    },
    ({ search, type, tag, only, limit, cursor, ...input }) =>
      answer(async () => {
        const library = filesIn(input);
        const { items, nextCursor } = await library.list({ search, type, tag, only, limit, cursor });
        const tags = cursor === undefined ? { tags: await library.tags() } : {};
        return { items: items.map(brief), nextCursor, ...tags };
      }),
  );
  server.registerTool(
    "get_file",
    {
      description:
        "Reads the description of a file, and the entries that have it. Shows a small picture of an image, so that you can describe it.",
      inputSchema: z.strictObject({ ...inOrb, id }),
      annotations: { readOnlyHint: true },
    },
    async ({ id: file, ...input }) => {
      let picture: ToolContent | undefined;
      const described = await answer(async () => {
        const found = await filesIn(input).get(file);
        picture = await pictureOf(transport, found);
        return found;
      });
      return picture === undefined ? described : { ...described, content: [...described.content, picture] };
    },
  );
  server.registerTool(
    "describe_file",
    {
      description:
        "Changes the description of a file: alternative text and caption by language, tags, focal point. Readers of published entries see the texts at once.",
      inputSchema: z.strictObject({
        ...inOrb,
        id,
        revision: z.int().min(1).describe("The revision of the file that you have read"),
        name: z.string().optional(),
        alt: texts("What people who do not see the image should know,"),
        caption: texts("Caption"),
        tags: z.array(z.string()).optional().describe("All tags that the file then has"),
        focal: z
          .strictObject({ x: z.number(), y: z.number() })
          .nullable()
          .optional()
          .describe("The point that all variants show, in fractions of width and height"),
      }),
      annotations: { idempotentHint: true },
    },
    ({ id: file, revision, ...input }) =>
      answer(async () => {
        const { orb: _orb, ...change } = input as typeof input & { orb?: string };
        return brief(await filesIn(input).update(file, JSON.parse(JSON.stringify(change)), { revision }));
      }),
  );
}
