import { base64url } from "jose";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

const POOL_BYTES = 4096;
const pool = new Uint8Array(POOL_BYTES);
let drawn = POOL_BYTES;

/**
 * Returns random bytes for ids. For secrets, use {@link randomToken}. The bytes are part of a pool, so the next call
 * may overwrite them. There is a pool because many small requests for random bytes are slow.
 */
function randomBytes(count: number): Uint8Array {
  if (drawn + count > POOL_BYTES) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  drawn += count;
  return pool.subarray(drawn - count, drawn);
}

/** Time and random part of the last id. */
const last = { now: -1, tail: "" };

/** Returns the next text of the same length in the order of `ALPHABET`. Undefined after the last one. */
function following(text: string): string | undefined {
  for (let at = text.length - 1; at >= 0; at--) {
    const next = ALPHABET[ALPHABET.indexOf(text[at] ?? "") + 1];
    if (next !== undefined)
      return text.slice(0, at) + next + (ALPHABET[0] ?? "0").repeat(text.length - at - 1);
  }
  return undefined;
}

/**
 * A sortable entry id: 9 characters of creation time (milliseconds in base 36) and 11 random ones (56 bits). Ids that
 * this process makes within a millisecond follow each other, so that entries of an upload have the order of its lines.
 */
export function newId(now: number): string {
  let tail = now === last.now ? following(last.tail) : undefined;
  if (tail === undefined) {
    tail = "";
    for (const byte of randomBytes(11)) tail += ALPHABET[byte % 36] ?? "0";
  }
  last.now = now;
  last.tail = tail;
  return now.toString(36).padStart(9, "0") + tail;
}

/** Characters of a random key. 36^12 keys: two of a thousand items are equal in one of 10^13 lists. */
const KEY_LENGTH = 12;

/** Returns a random key for an item of a list. Begins with a letter or a digit. */
export function newKey(): string {
  let out = "";
  for (const byte of randomBytes(KEY_LENGTH)) out += ALPHABET[byte % 36] ?? "0";
  return out;
}

/** Returns a random base64url text, to use as a secret. */
export function randomToken(bytes: number): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(bytes)));
}

const encoder = new TextEncoder();

/** Texts with more characters than this get their own buffer. */
const SHORT_TEXT = 4096;
const SLAB_BYTES = 64 * 1024;
let slab = new Uint8Array(0);
let used = 0;

/**
 * Encodes a text as UTF-8. Many short texts share one buffer, because the allocation of a buffer takes longer than the
 * encoding. Do not transfer the buffer of the result.
 */
export function encodeText(text: string): Uint8Array {
  if (text.length > SHORT_TEXT) return encoder.encode(text);
  // UTF-8 needs at most three bytes per UTF-16 code unit.
  if (used + text.length * 3 > slab.length) {
    slab = new Uint8Array(SLAB_BYTES);
    used = 0;
  }
  const { written } = encoder.encodeInto(text, slab.subarray(used));
  used += written;
  return slab.subarray(used - written, used);
}

/** Copies parts into one new buffer. A view is not enough, because some runtimes send the whole buffer behind it. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const part of parts) size += part.length;
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Number of parts of a body that are kept without copying. An ordinary body has fewer, so it is never copied. */
const FEW_PARTS = 8;
/** Parts with fewer bytes than this are copied into blocks. */
const SMALL_PART_BYTES = 1024;
const BLOCK_BYTES = 16 * 1024;

/**
 * Collects the parts of a body. Each part takes more memory than its bytes, and a client can send a body in parts of
 * one byte. So this class copies small parts into blocks.
 */
export class ByteCollector {
  size = 0;
  readonly #parts: Uint8Array[] = [];
  #block = new Uint8Array(0);
  #filled = 0;

  add(part: Uint8Array): void {
    this.size += part.length;
    if (part.length >= SMALL_PART_BYTES || this.#parts.length < FEW_PARTS) {
      this.#closeBlock();
      this.#parts.push(part);
      return;
    }
    if (this.#filled + part.length > this.#block.length) {
      this.#closeBlock();
      this.#block = new Uint8Array(BLOCK_BYTES);
    }
    this.#block.set(part, this.#filled);
    this.#filled += part.length;
  }

  /** Returns the collected bytes, in parts. */
  parts(): readonly Uint8Array[] {
    this.#closeBlock();
    return this.#parts;
  }

  bytes(): Uint8Array {
    const [first, ...others] = this.parts();
    return first !== undefined && others.length === 0 ? first : concatBytes(this.#parts);
  }

  #closeBlock(): void {
    if (this.#filled === 0) return;
    this.#parts.push(this.#block.slice(0, this.#filled));
    this.#filled = 0;
  }
}

export async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return base64url.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

export async function derivedId(parts: readonly string[]): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(parts));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  let number = 0n;
  for (const byte of hash.subarray(0, 16)) number = (number << 8n) | BigInt(byte);
  return `0${number.toString(36).padStart(25, "0")}`;
}

/** Compares secrets in constant time, against timing attacks. */
export async function sameSecret(given: string, wanted: string): Promise<boolean> {
  const [a, b] = await Promise.all([sha256(given), sha256(wanted)]);
  return sameText(a, b);
}

/**
 * Compares two hashes of equal length in constant time. To compare secrets that are not hashed, use {@link sameSecret}.
 */
export function sameText(a: string, b: string): boolean {
  let differs = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) differs |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return differs === 0;
}
