/** Parses headers of the protocol tus. */
import { AppError } from "../../shared/kernel/errors.ts";

const badHeader = (detail: string) => new AppError("malformed", "invalid_header", detail);

/** Returns the value of a header that is a number of bytes. */
export function wholeIn(name: string, value: string | undefined): number {
  if (/^\d{1,15}$/.test(value ?? "")) return Number(value);
  throw badHeader(`${name} must be a number of bytes, such as 1048576.`);
}

/** Maximum characters of the header `Upload-Metadata`. The platform stores it with the upload. */
const MAX_METADATA = 4096;

function pairIn(pair: string): [string, string] {
  const [, key, value = ""] = /^([\x21-\x7e]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/.exec(pair.trim()) ?? [];
  if (key === undefined) throw new TypeError("no pair");
  const bytes = Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
  return [key, new TextDecoder("utf-8", { fatal: true }).decode(bytes)];
}

/** Parses the header `Upload-Metadata`. It lists pairs of a key and a base64 value, separated by commas. */
export function metadataIn(header: string | undefined): Partial<Record<string, string>> {
  if (header === undefined || header === "") return {};
  try {
    if (header.length <= MAX_METADATA) return Object.fromEntries(header.split(",").map(pairIn));
  } catch {
    // Invalid base64: the error below says what is wrong.
  }
  const most = `at most ${MAX_METADATA} characters`;
  throw badHeader(
    `Upload-Metadata must have pairs of a key and a value in base64, such as filename c3VuLnBuZw==, ${most}.`,
  );
}
