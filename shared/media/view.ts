/** The view of a file in the library of an application. */
import { type Asset, assetRevision, shownTags, type TagNames, type Texts } from "../files/assets/index.ts";
import { type FileRecord, fileUrl, type ImageFacts } from "../files/record.ts";
import type { Crop, Focal } from "../images/variant.ts";

/** A file in the list of the library. */
export interface FileView extends Partial<ImageFacts> {
  id: string;
  url: string;
  name: string;
  type: string;
  /** Bytes. */
  size: number;
  sha256: string;
  /** Time of the upload, and the account that uploaded the file. */
  createdAt: string;
  createdBy: string;
  /** Number of the newest version of the description. */
  revision: number;
  /** Whether the file stays although no entry refers to it. */
  kept: boolean;
  /** Number of entries that refer to the file in at least one of their revisions. */
  uses: number;
  alt: Texts;
  caption: Texts;
  tags: readonly string[];
  focal: Focal | null;
  crop: Crop | null;
  /** Id of the file that replaced this one in all entries. */
  replacedBy?: string;
}

/** Returns an account without its realm, as entries name the accounts of their authors. */
const withoutRealm = (account: string) => account.slice(account.indexOf("/") + 1);

const NOTHING: Partial<Asset> = {};

/** @param names of the tags of the application */
export function fileView(orb: string, record: FileRecord, names: TagNames): FileView {
  const { id, name, type, size, sha256, at, by, image, entries, asset } = record;
  const { alt = {}, caption = {}, tags, focal = null, crop = null, replacedBy } = asset ?? NOTHING;
  return {
    ...{ id, url: fileUrl(orb, record), name, type, size, sha256 },
    ...image,
    ...{ createdAt: at, createdBy: withoutRealm(by), revision: assetRevision(asset) },
    ...{ kept: asset !== undefined, uses: entries.length },
    ...{ alt, caption, tags: shownTags(names, tags), focal, crop },
    ...(replacedBy === undefined ? {} : { replacedBy }),
  };
}
