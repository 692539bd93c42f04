/** A small picture of an image file. */
import { useState } from "preact/hooks";
import type { FieldModel } from "../model/orb.ts";
import { shownFile } from "./value.ts";

/** Types that browsers show in an image element. */
const IMAGE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon)$/;
/** Maximum bytes of an original that is loaded because the image has no smaller copy. */
const MAX_ORIGINAL = 16 * 1024 * 1024;

const areaOf = ({ w = 0, h = 0 }: Readonly<Record<string, string | number>>) =>
  Math.max(Number(w), Number(h)) || Number.POSITIVE_INFINITY;

/** Returns the addresses of the image to try: the smallest copy, then the original. */
function sourcesOf(field: FieldModel, value: unknown): string[] {
  const { url = "", type = "", size = 0, animated } = shownFile(value) ?? {};
  if (!url.startsWith("/api/") || !IMAGE.test(type)) return [];
  const [smallest] = [...(field.variants ?? [])].sort((one, other) => areaOf(one) - areaOf(other));
  const query = Object.entries(smallest ?? {}).map(([key, option]) => `${key}=${option}`);
  const isMade = query.length > 0 && animated !== true && /^image\/(png|jpeg|webp)$/.test(type);
  return [...(isMade ? [`${url}?${query.join("&")}`] : []), ...(size <= MAX_ORIGINAL ? [url] : [])];
}

/** Shows an image, or nothing for any other file and for an image that cannot be loaded. */
export function Thumbnail({ field, value }: { field: FieldModel; value: unknown }) {
  const sources = sourcesOf(field, value);
  const key = sources.join(" ");
  /** The number of sources that failed, and the sources that this number is about. */
  const [failed, setFailed] = useState({ key, count: 0 });
  const tried = failed.key === key ? failed.count : 0;
  const source = sources[tried];
  if (source === undefined) return null;
  return (
    <img
      class="thumbnail"
      src={source}
      alt=""
      loading="lazy"
      decoding="async"
      onError={() => setFailed({ key, count: tried + 1 })}
    />
  );
}
