/** Describes the files of entries for the query parameter `expand`. */

import { assetRevision, type Texts, textIn } from "../../files/assets/index.ts";
import { type FileRecord, isFileValue, recordIn } from "../../files/record.ts";
import type { Crop, Focal } from "../../images/variant.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { fileSubjects } from "../../store/file-subjects.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams } from "../../store/subjects.ts";
import type { Consistency, Store } from "../../store/types.ts";
import { inBatches } from "../index/index.ts";
import type { Choice } from "../model/index.ts";

/**
 * The description of a file in a response, in addition to the value of its field. It lacks the tags, because editors
 * sort files by them, and do not write them for readers.
 */
export interface DescribedFile {
  file: string;
  /** A text in the language of the response, or a map by language if the response has all languages. */
  alt: string | Texts | null;
  caption: string | Texts | null;
  focal: Focal | null;
  crop: Crop | null;
}

/** Returns the ids of all files in a field's value, which may be one file, a list, or a map by market and language. */
export function filesIn(value: unknown): string[] {
  if (isFileValue(value)) return [value.file];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(filesIn);
}

/** Replaces each file in a field's value by its description; null for one that is gone. */
export function describedIn(value: unknown, of: (id: string) => DescribedFile | null): unknown {
  if (isFileValue(value)) return of(value.file);
  if (Array.isArray(value)) return value.map((item) => describedIn(item, of));
  if (typeof value !== "object" || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, describedIn(item, of)]));
}

function described({ id, asset }: FileRecord, choice: Choice): DescribedFile {
  const shown = (texts: Texts | undefined) =>
    choice.allLocales ? (texts ?? null) : textIn(texts, choice.languages);
  return {
    file: id,
    alt: shown(asset?.alt),
    caption: shown(asset?.caption),
    focal: asset?.focal ?? null,
    crop: asset?.crop ?? null,
  };
}

/** Reads the descriptions of files, and what the ETags of responses with them must include. */
export async function describedFiles(
  store: Store,
  orb: string,
  ids: Iterable<string>,
  { budget, choice, consistency }: { budget: ReadBudget; choice: Choice; consistency: Consistency },
): Promise<Map<string, { file: DescribedFile; tag: string }>> {
  const found = new Map<string, { file: DescribedFile; tag: string }>();
  const subjectOf = (id: string) => fileSubjects.record(orb, id);
  const charged = budget.charging(store);
  const read = async (some: readonly string[], maxBytes: number) =>
    nullIfMissing(charged.getMany(streams.orb(orb), some.map(subjectOf), { maxBytes, consistency }));
  for await (const { wanted, result } of inBatches(budget, [...ids], read)) {
    for (const id of wanted) {
      const record = recordIn(result?.get(subjectOf(id)))?.record;
      if (record === undefined) continue;
      const tag = `${id}:${assetRevision(record.asset)}`;
      found.set(id, { file: described(record, choice), tag });
    }
  }
  return found;
}
