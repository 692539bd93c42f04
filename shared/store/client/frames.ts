/**
 * Frees large received WebSocket frames as soon as they are parsed. V8 does not start a garbage collection because of
 * byte arrays. Without this, unused frames would fill the memory of a Worker.
 */

/** Frames of at least this many bytes are freed after parsing, so nothing may refer to their bytes from then on. */
const LARGE_BYTES = 64 * 1024;
const lossless = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = 0xfeff;

/**
 * Returns the body of a message. If it is part of a large frame, copies it, as text if possible, so that the frame can
 * be freed.
 */
export function keptBody(part: Uint8Array): string | Uint8Array {
  if (part.buffer.byteLength < LARGE_BYTES) return part;
  try {
    const text = lossless.decode(part);
    // Decoders drop a leading byte order mark. Text that begins with one must therefore remain bytes.
    if (text.charCodeAt(0) !== BYTE_ORDER_MARK) return text;
  } catch {
    // The body is not valid UTF-8.
  }
  return part.slice();
}

/** Tracks the received frames of one connection, which are parsed in order. */
export class Frames {
  #current: ArrayBufferLike | undefined;

  /** Frees the previous frame when the first message of another frame arrives. */
  received({ buffer }: Uint8Array): void {
    if (buffer === this.#current || buffer.byteLength === 0) return;
    this.free();
    this.#current = buffer;
  }

  /** Frees the most recent frame. Call this only after all its messages are parsed. */
  free(): void {
    const frame = this.#current;
    this.#current = undefined;
    if (frame instanceof ArrayBuffer && frame.byteLength >= LARGE_BYTES) frame.transfer(0);
  }
}
