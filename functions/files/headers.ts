/** Headers of uploads and downloads. */
import { AppError } from "../../shared/kernel/errors.ts";

export interface Range {
  start: number;
  /** Position after the last byte of the range. */
  end: number;
}

const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Parses the `Range` header.
 * @returns undefined if the whole file must be sent: the header is missing or invalid, or lists several ranges
 * @throws AppError 416 if the range begins after the end of the file
 */
export function rangeOf(header: string | undefined, size: number): Range | undefined {
  const [, first = "", last = ""] = SINGLE.exec(header?.replaceAll(" ", "") ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const start = Math.max(0, size - Number(last));
    return start < size ? { start, end: size } : unsatisfiable();
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  if (start >= size) return unsatisfiable();
  return { start, end: last === "" ? size : Math.min(size, Number(last) + 1) };
}

/** The requested range begins after the end of the file. */
export class RangeMissing extends Error {}

function unsatisfiable(): never {
  throw new RangeMissing();
}

/** Encodes a header parameter's value, as RFC 8187 specifies. */
function extended(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** @param name a name without control characters */
export function disposition(kind: "inline" | "attachment", name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  return `${kind}; filename="${plain}"; filename*=UTF-8''${extended(name)}`;
}

/** Returns the file name in the header `Content-Disposition` of an upload. */
export function nameIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const encoded = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(header)?.[1];
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded);
    } catch {
      // Invalid encoding: use the plain name.
    }
  }
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(header)?.[1];
  return quoted?.replace(/\\(.)/g, "$1") ?? /;\s*filename\s*=\s*([^;\s"]+)/i.exec(header)?.[1];
}

/** Returns the SHA-256 in the header `Content-Digest` (RFC 9530) as hexadecimal. */
export function digestIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const encoded = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/i.exec(header)?.[1];
  if (encoded === undefined) {
    const detail = "Content-Digest must have the SHA-256 of the body, in the form sha-256=:<base64>:";
    throw new AppError("malformed", "invalid_header", detail);
  }
  return [...atob(encoded)].map((char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}
