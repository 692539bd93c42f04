/** The description that editors give a file: alternative text, caption, tags, focal point and crop. */
import { FRAME_STEPS, type Frame } from "../../images/variant.ts";
import { invalid } from "../../kernel/errors.ts";
import { Faults, joinNames } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { ASSET_LIMITS } from "./limits.ts";
import { checkTagCount, tagsIn } from "./tags.ts";

/** Texts by language. */
export type Texts = Readonly<Record<string, string>>;

/** The description of a file. A file that has one stays until it is deleted, although no entry refers to it. */
export interface Asset extends Frame {
  /** Number of the description's newest version. A file without a description counts as version 1. */
  revision: number;
  /** ISO 8601. */
  at: string;
  /** Account that wrote this version, prefixed with its realm. */
  by: string;
  alt?: Texts | undefined;
  caption?: Texts | undefined;
  /** Ids of tags. In a change, their names. */
  tags?: readonly string[] | undefined;
  /** Id of the file that replaced this one in all entries. */
  replacedBy?: string | undefined;
}

/** The members of a description that a client can change. */
export type AssetChange = { -readonly [K in "alt" | "caption" | "tags" | "crop" | "focal"]?: Asset[K] };

export interface FileChange {
  asset: AssetChange;
  /** A new name, as the client sent it. */
  name?: string;
}

export const assetRevision = (asset: Asset | undefined): number => asset?.revision ?? 1;

/** Returns the text in the first of these languages that has one. */
export function textIn(texts: Texts | undefined, languages: readonly string[]): string | null {
  const language = languages.find((each) => texts !== undefined && Object.hasOwn(texts, each));
  return language === undefined ? null : (texts?.[language] ?? null);
}

/** Merges changes of texts into those that are stored: null or an empty text removes one. */
function textsOf(
  member: "alt" | "caption",
  value: unknown,
  stored: Texts | undefined,
  languages: readonly string[],
  faults: Faults,
): Texts | undefined {
  if (value === null) return undefined;
  if (!isObject(value)) {
    faults.add(`/${member}`, "type", 'must be an object with a text for each language, such as {"en": "…"}');
    return stored;
  }
  const texts = new Map(Object.entries(stored ?? {}));
  for (const [language, text] of Object.entries(value)) {
    const path = `/${member}/${language.slice(0, 64)}`;
    const most = ASSET_LIMITS[member];
    if (text === null || text === "") texts.delete(language);
    else if (!languages.includes(language))
      faults.add(path, "unknown_language", `must be a language of the orb. Use ${joinNames(languages)}.`);
    else if (typeof text !== "string") faults.add(path, "type", "must be a text");
    else if (text.length > most)
      faults.add(path, "too_long", `must be at most ${most} characters long (is ${text.length})`);
    else texts.set(language, text);
  }
  return texts.size === 0 ? undefined : Object.fromEntries(texts);
}

function tagsOf(value: unknown, faults: Faults): readonly string[] | undefined {
  if (value === null) return undefined;
  const all = tagsIn(value, "/tags", faults);
  checkTagCount(all, "/tags", faults);
  return all.length === 0 ? undefined : all;
}

const isFraction = (value: unknown): value is number => typeof value === "number" && value >= 0 && value <= 1;

const rounded = (value: number) => Math.round(value * FRAME_STEPS) / FRAME_STEPS;

/** Returns fractions with these names. Undefined if the value has others, or if one is out of range. */
function fractionsIn<const N extends string>(
  value: unknown,
  names: readonly N[],
): Record<N, number> | undefined {
  if (!isObject(value) || Object.keys(value).some((key) => !names.some((name) => name === key)))
    return undefined;
  const found = names.flatMap((name) => {
    const part = value[name];
    return isFraction(part) ? [[name, rounded(part)] as const] : [];
  });
  return found.length === names.length ? (Object.fromEntries(found) as Record<N, number>) : undefined;
}

function focalOf(value: unknown, faults: Faults): Asset["focal"] {
  if (value === null) return undefined;
  const focal = fractionsIn(value, ["x", "y"]);
  if (focal === undefined)
    faults.add("/focal", "format", "must have x and y, fractions of the width and height from 0 to 1");
  return focal;
}

function cropOf(value: unknown, faults: Faults): Asset["crop"] {
  if (value === null) return undefined;
  const crop = fractionsIn(value, ["x", "y", "w", "h"]);
  const slack = 1 + 1 / FRAME_STEPS;
  const isInside =
    crop !== undefined && crop.w > 0 && crop.h > 0 && crop.x + crop.w <= slack && crop.y + crop.h <= slack;
  if (isInside) return crop;
  const message =
    "must have x, y, w and h, fractions of the width and height from 0 to 1, of a rectangle inside the image";
  faults.add("/crop", "format", message);
  return undefined;
}

const MEMBERS = ["name", "alt", "caption", "tags", "focal", "crop"] as const;

/**
 * Checks a change of a description, a JSON Merge Patch.
 * @param languages of the application
 * @param isImage whether the file is an image of a known size
 * @throws AppError invalid with all faults
 */
export function fileChange(
  patch: unknown,
  stored: Asset | undefined,
  languages: readonly string[],
  isImage: boolean,
): FileChange {
  if (!isObject(patch)) throw invalid([{ path: "", code: "type", message: "must be an object" }]);
  const faults = new Faults();
  for (const key of Object.keys(patch))
    if (!MEMBERS.some((member) => member === key))
      faults.add(
        `/${key.slice(0, 64)}`,
        "unknown_property",
        `is not a known property. Use ${joinNames(MEMBERS)}.`,
      );
  const asset: AssetChange = {};
  if (patch.alt !== undefined) asset.alt = textsOf("alt", patch.alt, stored?.alt, languages, faults);
  if (patch.caption !== undefined)
    asset.caption = textsOf("caption", patch.caption, stored?.caption, languages, faults);
  checkTexts({ ...stored, ...asset }, faults);
  if (patch.tags !== undefined) asset.tags = tagsOf(patch.tags, faults);
  if (patch.focal !== undefined) asset.focal = focalOf(patch.focal, faults);
  if (patch.crop !== undefined) asset.crop = cropOf(patch.crop, faults);
  for (const member of ["focal", "crop"] as const)
    if (!isImage && asset[member] !== undefined)
      faults.add(`/${member}`, "not_applicable", "must only be set on an image whose size is known");
  const { name } = patch;
  if (name !== undefined) checkName(name, faults);
  if (faults.any) throw invalid(faults.list());
  return { asset, ...(typeof name === "string" ? { name } : {}) };
}

function checkTexts({ alt = {}, caption = {} }: AssetChange, faults: Faults): void {
  const length = [...Object.values(alt), ...Object.values(caption)].join("").length;
  const { texts: most } = ASSET_LIMITS;
  if (length <= most) return;
  const message = `must have at most ${most} characters in all languages, with the captions (has ${length})`;
  faults.add("/alt", "too_long", message);
}

function checkName(name: unknown, faults: Faults): void {
  if (typeof name === "string" && name.trim() !== "" && name.length <= ASSET_LIMITS.name) return;
  faults.add("/name", "format", `must be a text of 1 to ${ASSET_LIMITS.name} characters`);
}

/** Returns the next version of a description. Members that are undefined are removed. */
export function nextAsset(
  stored: Asset | undefined,
  change: Partial<Omit<Asset, "revision" | "at" | "by">>,
  by: Pick<Asset, "at" | "by">,
): Asset {
  return { ...stored, ...change, ...by, revision: assetRevision(stored) + 1 };
}
