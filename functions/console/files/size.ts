import { LOCALE, t } from "../texts/t.ts";

const sizes = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });

/** Returns a number of bytes as people read it: `1.5 MB`. */
export function sizeText(bytes: number): string {
  const units = ["kB", "MB", "GB"] as const;
  if (bytes < 1000) return t("media.bytes", { count: bytes });
  const step = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${sizes.format(bytes / 1000 ** step)} ${units[step - 1]}`;
}
