interface Sized {
  readable: ReadableStream<Uint8Array>;
  writable: WritableStream<Uint8Array>;
}

/**
 * Makes the Workers runtime send the header `content-length` for a stream, so that clients can detect an incomplete
 * body. Other hosts send the header without this wrapper.
 */
export function withLength(stream: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  const { FixedLengthStream: Fixed } = globalThis as { FixedLengthStream?: new (length: number) => Sized };
  if (Fixed === undefined) return stream;
  const { readable, writable } = new Fixed(length);
  stream.pipeTo(writable).catch(() => undefined);
  return readable;
}
