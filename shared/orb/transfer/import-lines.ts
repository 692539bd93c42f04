import { z } from "zod";
import { checkDocument } from "../../definition/check/index.ts";
import { ENTRY_ID, MODULE_TYPES, type OrbDocument, STATUSES } from "../../definition/document/index.ts";
import { normaliseInstant } from "../../definition/fields/parts/index.ts";
import { FIELD_TYPE_NAMES } from "../../definition/types/index.ts";
import type { Config } from "../../deps.ts";
import { ASSET_LIMITS } from "../../files/assets/index.ts";
import type { ExportedFile } from "../../files/transfer.ts";
import { fromBase64 } from "../../kernel/base64.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { addZodIssues, Faults } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { parsedHome } from "../../store/subjects.ts";
import { withSealedSecrets } from "../secrets.ts";
import type { ExportedEntry } from "./export.ts";
import type { ImportedEntry } from "./import-entries.ts";

/** An ISO 8601 time in UTC with milliseconds, as this platform writes it. */
const instant = z.iso
  .datetime({ precision: 3 })
  .refine((text) => normaliseInstant(text) === text, "must be a time between the years 0001 and 9999");

/**
 * Maximum revision number in an import. Later revisions continue from this number, and `If-Match` accepts at most 15
 * digits.
 */
const REVISION_LIMIT = 2 ** 31;

/**
 * Times in the file may be this many milliseconds in the future, because the clock of the exporting platform may be
 * ahead.
 */
const CLOCK_SKEW_MS = 24 * 60 * 60 * 1000;

const number = z.int().min(1).max(REVISION_LIMIT);

const snapshot = z.strictObject({
  v: z.literal(1),
  id: z.string().regex(ENTRY_ID, "must be the id of an entry"),
  orb: z.string(),
  module: z.string(),
  schema: z.string(),
  operation: z.enum(["create", "update", "publish", "unpublish", "archive", "restore", "revert", "reseal"]),
  status: z.enum(STATUSES),
  revision: number,
  publishedRevision: number.nullable(),
  validFrom: instant.nullable(),
  validTo: instant.nullable(),
  liveFrom: instant.nullable(),
  liveTo: instant.nullable(),
  createdAt: instant,
  createdBy: z.string().max(200),
  updatedAt: instant,
  updatedBy: z.string().max(200),
  through: z.string().max(200).optional(),
  imported: z.literal(true).optional(),
  values: z.record(z.string(), z.unknown()),
  /** HMAC of the request that created the entry, if the request had an idempotency key. */
  request: z.string().max(200).optional(),
});

const flag = z.boolean().optional();

const retired = z.strictObject({
  module: z.string().max(64),
  moduleType: z.enum(MODULE_TYPES),
  schema: z.string().max(64),
  whole: z.literal(false),
  fields: z.array(
    z.strictObject({
      name: z.string().max(64),
      type: z.enum(FIELD_TYPE_NAMES),
      list: flag,
      translatable: flag,
      marketSpecific: flag,
      sensitive: flag,
    }),
  ),
});

export const orbLine = z.strictObject({
  kind: z.literal("orb"),
  v: z.literal(1),
  document: z.unknown(),
  status: z.enum(STATUSES),
  revision: number,
  publishedRevision: number.nullable(),
  published: z.unknown(),
  retired: z.array(retired).max(10_000).optional(),
  exportedAt: z.string(),
});

const entryLine = z.strictObject({
  kind: z.literal("entry"),
  head: snapshot,
  published: snapshot.nullable(),
});

const texts = z.record(z.string().max(64), z.string().max(ASSET_LIMITS.caption));
const fraction = z.number().min(0).max(1);

const asset = z.strictObject({
  revision: number,
  at: instant,
  by: z.string().max(200),
  alt: texts.exactOptional(),
  caption: texts.exactOptional(),
  tags: z.array(z.string().min(1).max(ASSET_LIMITS.tag)).max(ASSET_LIMITS.tags).exactOptional(),
  focal: z.strictObject({ x: fraction, y: fraction }).exactOptional(),
  crop: z.strictObject({ x: fraction, y: fraction, w: fraction, h: fraction }).exactOptional(),
  replacedBy: z.string().max(128).exactOptional(),
});

const fileLine = z.strictObject({
  kind: z.literal("file"),
  file: z.strictObject({
    id: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, "must be the id of a file"),
    sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256, hexadecimal"),
    size: z.int().min(0),
    type: z.string().max(200),
    name: z.string().max(200),
    by: z.string().max(200),
    at: instant,
    image: z
      .strictObject({
        width: z.int().min(1),
        height: z.int().min(1),
        color: z
          .string()
          .regex(/^#[0-9a-f]{6}$/, "must be a colour such as #1f2a30")
          .exactOptional(),
        animated: z.literal(true).exactOptional(),
      })
      .exactOptional(),
    asset: asset.exactOptional(),
    last: z
      .strictObject({ type: z.string().max(64), schema: z.string().max(200) })
      .transform(({ type, schema }) => parsedHome(type, schema))
      .exactOptional(),
  }),
});

const contentLine = z.strictObject({ kind: z.literal("content"), data: z.base64().min(1) });

const endLine = z.strictObject({ kind: z.literal("end"), entries: z.int().min(0) });

export interface ImportInput {
  lines: AsyncIterable<string>;
  /** Parses one line. @throws AppError malformed */
  parse: (line: string) => unknown;
  /**
   * Authenticates the caller again. Called several times, because the caller may lose the right to import during a long
   * upload.
   */
  authority?: (() => Promise<unknown>) | undefined;
}

interface Line {
  number: number;
  value: unknown;
}

export async function* numbered(input: ImportInput): AsyncGenerator<Line> {
  let count = 0;
  for await (const text of input.lines) {
    count++;
    if (text.trim() !== "") yield { number: count, value: input.parse(text) };
  }
}

function beyond(snapshot: ExportedEntry, now: number): Fault[] {
  const faults: Fault[] = [];
  if (snapshot.publishedRevision !== null && snapshot.publishedRevision > snapshot.revision) {
    const message = `must be at most the revision ${snapshot.revision} (is ${snapshot.publishedRevision})`;
    faults.push({ path: "/publishedRevision", code: "too_big", message });
  }
  for (const name of ["createdAt", "updatedAt"] as const) {
    if (Date.parse(snapshot[name]) <= now + CLOCK_SKEW_MS) continue;
    faults.push({
      path: `/${name}`,
      code: "too_big",
      message: `must not be in the future (is ${snapshot[name]})`,
    });
  }
  return faults;
}

/** Yields the content of a file. */
async function* contentIn(lines: AsyncGenerator<Line>, size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; ) {
    const next = await lines.next();
    if (next.done === true) throw cutOff();
    const path = `/lines/${next.value.number}`;
    const data = fromBase64(shaped(contentLine, next.value.value, path).data);
    left -= data.length;
    if (left < 0) {
      const message = `must not have more bytes than the file, whose size is ${size}`;
      throw invalid([{ path: `${path}/data`, code: "too_big", message }]);
    }
    yield data;
  }
}

/**
 * Stores the files of an export, and yields the other lines.
 * @param store stores a file; returns whether the content has the hash that the export states
 */
export async function* withoutFiles(
  lines: AsyncGenerator<Line>,
  store: (file: ExportedFile, body: AsyncIterable<Uint8Array>) => Promise<boolean>,
): AsyncGenerator<Line> {
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
    const { number, value } = next.value;
    if (!isObject(value) || value.kind !== "file") {
      yield next.value;
      continue;
    }
    const path = `/lines/${number}`;
    const { file } = shaped(fileLine, value, path);
    if (await store(file, contentIn(lines, file.size))) continue;
    const message = "is not the hash of the content that follows. Export the orb again.";
    throw invalid([{ path: `${path}/file/sha256`, code: "digest_mismatch", message }]);
  }
}

function cutOff(): AppError {
  const message = "must end with an end line. The file was cut off: export the orb again.";
  return invalid([{ path: "/lines", code: "cut_off", message }]);
}

/**
 * Yields the entries of an export.
 * @throws AppError invalid `cut_off` if the last line is missing, so the file is incomplete
 */
export async function* entriesOf(
  lines: AsyncGenerator<Line>,
  orb: string,
  now: number,
): AsyncGenerator<ImportedEntry> {
  let count = 0;
  for await (const { number, value } of lines) {
    const path = `/lines/${number}`;
    if (typeof value === "object" && value !== null && Reflect.get(value, "kind") === "end") {
      const { entries } = shaped(endLine, value, path);
      if (entries === count) return;
      throw invalid([
        {
          path,
          code: "cut_off",
          message: `announces ${entries} entries, but the file contains ${count}. Export the orb again.`,
        },
      ]);
    }
    const { head, published } = shaped(entryLine, value, path);
    const faults: Fault[] = [];
    for (const [name, one] of [
      ["head", head],
      ["published", published],
    ] as const) {
      if (one !== null && one.orb !== orb) {
        faults.push({
          path: `${path}/${name}/orb`,
          code: "mismatch",
          message: "must be the id of the imported orb",
        });
      }
      if (one !== null)
        faults.push(...beyond(one, now).map((fault) => ({ ...fault, path: `${path}/${name}${fault.path}` })));
    }
    if (published !== null && (published.id !== head.id || published.revision !== head.publishedRevision)) {
      faults.push({
        path: `${path}/published`,
        code: "mismatch",
        message: "must be the live revision of the entry",
      });
    }
    if (published === null && head.publishedRevision !== null && head.publishedRevision !== head.revision) {
      faults.push({
        path: `${path}/published`,
        code: "required",
        message: "is required, because another revision is live",
      });
    }
    if (faults.length > 0) throw invalid(faults);
    count++;
    yield { path, head, published };
  }
  throw cutOff();
}

export function shaped<T>(schema: z.ZodType<T>, value: unknown, path: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = new Faults();
  addZodIssues(faults, parsed.error.issues, value);
  throw invalid(faults.list().map((fault) => ({ ...fault, path: path + fault.path })));
}

/**
 * Validates an imported document. Encrypts secrets that are plaintext, which happens only in files that were edited.
 */
export async function soundDocument(
  config: Pick<Config, "encryptionKeys" | "publicUrl">,
  value: unknown,
  path: string,
): Promise<OrbDocument> {
  try {
    return await withSealedSecrets(config, checkDocument(value).document, null);
  } catch (error) {
    if (!(error instanceof AppError) || error.errors === undefined) throw error;
    throw invalid(error.errors.map((fault) => ({ ...fault, path: path + fault.path })));
  }
}
