/** Finds the size and the main colour of an uploaded image. */
import type { CompiledOrb } from "../definition/compile.ts";
import type { Deps } from "../deps.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { headerOf, isDecodable, shownSize } from "../images/header.ts";
import { IMAGE_BYTES } from "../images/job.ts";
import { type Variant, variantOf } from "../images/variant.ts";
import { contentOf } from "./download.ts";
import type { FileRecord, FileUse } from "./record.ts";

/** Maximum bytes to read in search of the size of an image. */
const HEAD_BYTES = 512 * 1024;

/**
 * Returns the variants (smaller copies of images) that schemas list for their files.
 * @param uses limits the result to the schemas of these entries
 */
export function variantsIn({ byHome }: CompiledOrb, uses: readonly FileUse[]): Variant[] {
  const schemas = [...byHome.values()].filter(
    ({ home }) =>
      uses.length === 0 || uses.some(({ type, schema }) => type === home.type && schema === home.schema),
  );
  return schemas.flatMap((schema) =>
    schema.files.flatMap(({ definition }) => (definition.variants ?? []).map(variantOf)),
  );
}

async function* each(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The first bytes of a file, as a list of parts. */
interface Head {
  head: readonly Uint8Array[];
  /** Whether the end of the file was reached. */
  isWhole?: boolean;
}

/** Returns the header of an image. Reads more content if the first bytes contain only metadata. */
async function headerIn(deps: Deps, orb: string, record: FileRecord, { head, isWhole = false }: Head) {
  if (!record.type.startsWith("image/")) return null;
  const bytes = joined(head);
  const header = headerOf(bytes);
  const end = Math.min(record.size, HEAD_BYTES);
  if (header !== null || isWhole || bytes.length >= end) return header;
  const more: Uint8Array[] = [];
  for await (const part of contentOf(deps, orb, record, { start: 0, end })) more.push(part);
  return headerOf(joined(more));
}

/**
 * Adds the size of an image to its record. Adds the main colour only if the application has variants (smaller copies),
 * because the whole image must be decoded for it.
 */
export async function addImageFacts(
  deps: Deps,
  { orb, compiled }: OrbContext,
  record: FileRecord,
  head: Head,
): Promise<void> {
  const header = await headerIn(deps, orb, record, head);
  if (header === null) return;
  record.image = {
    ...shownSize(header),
    ...(header.animated === undefined ? {} : { animated: header.animated }),
  };
  const limit = deps.config.imagePixels;
  const isMade = header.unsupported === undefined && record.size <= IMAGE_BYTES && isDecodable(header, limit);
  if (deps.images === undefined || !isMade || variantsIn(compiled, []).length === 0) return;
  const bytes =
    head.isWhole === true ? each(head.head) : contentOf(deps, orb, record, { start: 0, end: record.size });
  try {
    const { width, height, color } = await deps.images({ limit }, bytes);
    record.image = { width, height, ...(color === undefined ? {} : { color }) };
  } catch (error) {
    // The upload succeeds without the colour.
    deps.log.warn("the colour of an image could not be computed", { orb, error: String(error) });
  }
}
