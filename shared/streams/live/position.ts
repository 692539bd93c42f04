/**
 * Ids of the events of a live list. A client can resume later with the id of the last event that it received. The id
 * contains a position in the stream, and a signature over the position, the filter and the caller's rights. If the
 * id, the filter or the rights have changed, the client gets a new snapshot instead.
 */
import { base64url } from "jose";

/**
 * A client can resume from an event that is at most this many milliseconds old. Messages that mark deletions
 * (tombstones) are kept an hour longer, so that such a client gets all of them.
 */
const RESUMABLE_MS = 23 * 3_600_000;
const MAC_CHARACTERS = 22;
const ID = /^(\d{1,15})-([0-9a-z]{1,10})-([A-Za-z0-9_-]{22})$/;

const encoder = new TextEncoder();

export interface Position {
  seq: number;
  /** Milliseconds since the client got this position. */
  ageMs: number;
}

export class PositionSigner {
  readonly #key: Promise<CryptoKey>;
  readonly #list: string;

  /**
   * @param secret key of the platform, with a prefix that separates this use of the key from others
   * @param list everything that determines which events clients get. An id is valid only for the same list.
   */
  constructor(secret: string, list: readonly unknown[]) {
    this.#key = keyOf(secret);
    this.#key.catch(() => undefined);
    this.#list = JSON.stringify(list);
  }

  /** @param now milliseconds since the epoch */
  async idAt(seq: number, now: number): Promise<string> {
    const time = Math.floor(now / 1000).toString(36);
    return `${seq}-${time}-${await this.#mac(seq, time)}`;
  }

  /** Returns the position in an event id. Undefined if the client cannot resume from the id and needs a snapshot. */
  async positionIn(id: string, now: number): Promise<Position | undefined> {
    const [, seq = "", time = "", mac = ""] = ID.exec(id) ?? [];
    if (seq === "" || mac !== (await this.#mac(Number(seq), time))) return undefined;
    const ageMs = now - Number.parseInt(time, 36) * 1000;
    return ageMs < RESUMABLE_MS ? { seq: Number(seq), ageMs } : undefined;
  }

  async #mac(seq: number, time: string): Promise<string> {
    const data = encoder.encode(`${seq} ${time} ${this.#list}`);
    const mac = await crypto.subtle.sign("HMAC", await this.#key, data);
    return base64url.encode(new Uint8Array(mac)).slice(0, MAC_CHARACTERS);
  }
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const raw = await crypto.subtle.digest("SHA-256", encoder.encode(`live list ${secret}`));
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}
