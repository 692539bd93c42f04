interface Sized {
  readable: ReadableStream<Uint8Array>;
  writable: WritableStream<Uint8Array>;
}

/**
 * Makes the Workers runtime send the stream's length. Otherwise, a client could not detect that a stream has failed.
 * Other hosts send the header `content-length`.
 */
export function withLength(stream: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  const { FixedLengthStream: Fixed } = globalThis as { FixedLengthStream?: new (length: number) => Sized };
  if (Fixed === undefined) return stream;
  const { readable, writable } = new Fixed(length);
  stream.pipeTo(writable).catch(() => undefined);
  return readable;
}
