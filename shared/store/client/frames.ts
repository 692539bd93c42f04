/**
 * Frees the memory of large received frames as soon as they are parsed. V8 does not collect garbage because of byte
 * arrays, so frames would fill the memory of a function long before its heap is full.
 */

/** A frame of at least this many bytes is freed, so nothing may refer to it once it is parsed. */
const LARGE_BYTES = 64 * 1024;
/** Accepts only text that encodes to the same bytes again. */
const lossless = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = 0xfeff;

/** Returns a part of a frame that may be kept. A part of a large frame becomes text, if it is text. */
export function keptBody(part: Uint8Array): string | Uint8Array {
  if (part.buffer.byteLength < LARGE_BYTES) return part;
  try {
    const text = lossless.decode(part);
    // Other decoders would drop the mark.
    if (text.charCodeAt(0) !== BYTE_ORDER_MARK) return text;
  } catch {}
  return part.slice();
}

/** The frames of one connection, which are parsed in order. */
export class Frames {
  #current: ArrayBufferLike | undefined;

  /** Call this for each message. Frees the previous frame if the message came in a later one. */
  received({ buffer }: Uint8Array): void {
    // An empty message may have a buffer of its own.
    if (buffer === this.#current || buffer.byteLength === 0) return;
    this.free();
    this.#current = buffer;
  }

  /** Frees the last frame. It must have been parsed. */
  free(): void {
    const frame = this.#current;
    this.#current = undefined;
    if (frame instanceof ArrayBuffer && frame.byteLength >= LARGE_BYTES) frame.transfer(0);
  }
}
