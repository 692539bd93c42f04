/**
 * Reads the DER encoding of ECDSA signatures. In the bundle of the functions, this module replaces the packages
 * `@peculiar/asn1-schema` and `@peculiar/asn1-ecc`, so its exports have the same names as theirs.
 */

const SEQUENCE = 0x30;
const INTEGER = 0x02;

interface Element {
  content: Uint8Array;
  rest: Uint8Array;
}

/**
 * Parses the first DER element. Supports lengths below 256, which take one or two bytes. ECDSA signatures are shorter.
 */
function element(bytes: Uint8Array, tag: number): Element {
  const long = bytes[1] === 0x81;
  const start = long ? 3 : 2;
  const length = bytes[start - 1];
  const end = start + (length ?? 0);
  const minimal = length !== undefined && (long ? length >= 0x80 : length < 0x80);
  if (bytes[0] !== tag || !minimal || end > bytes.length) throw new Error("must be a signature in DER");
  return { content: bytes.subarray(start, end), rest: bytes.subarray(end) };
}

/** Represents the structure to parse: a sequence of two integers. */
export class ECDSASigValue {
  r = new ArrayBuffer(0);
  s = new ArrayBuffer(0);
}

export const AsnParser = {
  /** @throws if the bytes are not exactly one ECDSA signature, or `target` is any other structure */
  parse(bytes: Uint8Array, target: typeof ECDSASigValue): ECDSASigValue {
    if (target !== ECDSASigValue) throw new Error("Only signatures can be parsed, not certificates.");
    const sequence = element(bytes, SEQUENCE);
    const r = element(sequence.content, INTEGER);
    const s = element(r.rest, INTEGER);
    if (sequence.rest.length + s.rest.length > 0) throw new Error("must be a signature in DER");
    return { r: new Uint8Array(r.content).buffer, s: new Uint8Array(s.content).buffer };
  },
};
