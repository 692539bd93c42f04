/**
 * Frees the memory of large received frames as soon as they are parsed. V8 does not collect garbage because of byte
 * arrays, so frames would fill the memory of a function long before its heap is full.
 */

/** A frame of at least this many bytes is freed, so nothing may refer to it once it is parsed. */
const LARGE_BYTES = 64 * 1024;
const lossless = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = 0xfeff;

/** Returns a copy of a body in a large frame, as text if possible, so that the frame can be freed. */
export function keptBody(part: Uint8Array): string | Uint8Array {
  if (part.buffer.byteLength < LARGE_BYTES) return part;
  try {
    const text = lossless.decode(part);
    // Decoders drop a leading byte order mark, so such text must remain bytes.
    if (text.charCodeAt(0) !== BYTE_ORDER_MARK) return text;
  } catch {
    // Not text.
  }
  return part.slice();
}

/** The frames of one connection, which are parsed in order. */
export class Frames {
  #current: ArrayBufferLike | undefined;

  /** Frees the previous frame when the first message of another frame arrives. */
  received({ buffer }: Uint8Array): void {
    if (buffer === this.#current || buffer.byteLength === 0) return;
    this.free();
    this.#current = buffer;
  }

  /** Frees the last frame. Its messages must have been parsed. */
  free(): void {
    const frame = this.#current;
    this.#current = undefined;
    if (frame instanceof ArrayBuffer && frame.byteLength >= LARGE_BYTES) frame.transfer(0);
  }
}
