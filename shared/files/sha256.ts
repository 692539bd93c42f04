/**
 * Computes SHA-256 hashes. Unlike with the hash functions of the runtimes, the intermediate state can be stored, and
 * another process can continue the computation.
 */

const BLOCK = 64;

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

/** Returns the first 32 bits of the fractional part. The SHA-256 standard defines its constants that way. */
const fraction = (value: number) => ((value % 1) * 2 ** 32) | 0;
const ROUNDS = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));
const words = new Int32Array(BLOCK);

function compress(state: Int32Array, data: Uint8Array, at: number): void {
  for (let i = 0, p = at; i < 16; i++, p += 4)
    words[i] =
      ((data[p] as number) << 24) |
      ((data[p + 1] as number) << 16) |
      ((data[p + 2] as number) << 8) |
      (data[p + 3] as number);
  for (let i = 16; i < BLOCK; i++) {
    const x = words[i - 15] as number;
    const y = words[i - 2] as number;
    const small = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const large = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    words[i] = ((words[i - 16] as number) + small + (words[i - 7] as number) + large) | 0;
  }
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let i = 0; i < BLOCK; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUNDS[i] as number) + (words[i] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

const hex = (state: Int32Array) =>
  [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");

export class Sha256 {
  readonly #state: Int32Array;

  /** @param state a result of {@link state}; if missing, the hash is new */
  constructor(state?: string) {
    this.#state =
      state === undefined
        ? START.slice()
        : Int32Array.from(state.match(/.{8}/g) ?? [], (word) => Number.parseInt(word, 16) | 0);
  }

  /** @param data a multiple of 64 bytes */
  update(data: Uint8Array): void {
    for (let at = 0; at < data.length; at += BLOCK) compress(this.#state, data, at);
  }

  state(): string {
    return hex(this.#state);
  }

  /**
   * Returns the hash as hexadecimal text. Do not use the object afterwards.
   * @param tail the last bytes, which were not passed to {@link update}
   * @param size the number of all bytes
   */
  digest(tail: Uint8Array, size: number): string {
    const padded = new Uint8Array(Math.ceil((tail.length + 9) / BLOCK) * BLOCK);
    padded.set(tail);
    padded[tail.length] = 0x80;
    new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(size) * 8n);
    this.update(padded);
    return hex(this.#state);
  }
}
