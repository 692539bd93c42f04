/**
 * The idempotency keys of lines, stored together: one message for each batch instead of one for each line, which would
 * slow an upload down by a third. The messages of all uploads with the same `Idempotency-Key` have one subject. Each
 * expects the one before it, so two of these uploads cannot write the same line.
 *
 * The messages also tell which lines belong to an upload that has not ended: those after the last `end`. An upload that
 * does not repeat them can take them back: `take` says so before their entries are deleted, and `taken` afterwards.
 */

import type { Actor } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import {
  answerAt,
  type Idempotency,
  idempotencySubject,
  LIFETIME_SECONDS,
  type OrbContext,
  type Replay,
} from "../model/index.ts";

/** A line's key, the HMACs of its content, and the number of messages between its revision and the stored message. */
export interface LineClaim {
  key: string;
  bodies: readonly string[];
}

interface StoredClaims {
  v: 1;
  lines: [key: string, body: string, distance: number][];
  /** Whether the batch also has lines whose keys have a message each. */
  own?: true;
  /** `end`: an upload has processed all its lines. */
  mark?: "end" | "take" | "taken";
  /** With `take`: the key of the first line to take back. All lines after it are taken back too. */
  from?: string;
}

/** A line of an upload that has not ended, and the sequence number of its entry's revision. */
export interface OpenLine {
  key: string;
  seq: number;
}

/** Maximum keys in memory for one upload. Lines beyond it have a message for each key. */
export const MOST_KEYS = 100_000;
const PAGE = 200;

export class UploadClaims {
  readonly #deps: Deps;
  readonly #orb: string;
  readonly #subject: string;
  readonly #most: number;
  readonly #known = new Map<string, { body: string; seq: number }>();
  /** The lines since the last `end`, in their order. */
  #open: OpenLine[] = [];
  /** The lines that are being taken back. */
  #taking: OpenLine[] = [];
  #hasOwn = false;
  /** Sequence number of the last message that is known; 0 if there is none. */
  #last = 0;

  private constructor(deps: Deps, orb: string, subject: string, most: number) {
    this.#most = most;
    this.#deps = deps;
    this.#orb = orb;
    this.#subject = subject;
  }

  /**
   * Reads the keys of earlier uploads with the same `Idempotency-Key`.
   * @param most maximum keys in memory
   */
  static async open(
    deps: Deps,
    actor: Actor,
    orb: string,
    sent: Idempotency,
    most = MOST_KEYS,
  ): Promise<UploadClaims> {
    const { key, route } = sent;
    const hash = (text: string) => subjects.idempotency(orb, text);
    const claims = new UploadClaims(
      deps,
      orb,
      await idempotencySubject(actor, { key, route: `${route}#lines` }, hash),
      most,
    );
    await claims.refresh();
    return claims;
  }

  /** Whether there is room for the keys of further lines. */
  get hasRoom(): boolean {
    return this.#known.size < this.#most;
  }

  /** Whether some lines have a message each for their key. */
  get hasOwn(): boolean {
    return this.#hasOwn;
  }

  /** The lines of uploads that have not ended, in their order. */
  get open(): readonly OpenLine[] {
    return this.#open;
  }

  /** The lines that an upload has begun to take back. */
  get taking(): readonly OpenLine[] {
    return this.#taking;
  }

  isKnown(key: string): boolean {
    return this.#known.has(key);
  }

  /** Forgets the lines from `from` on, for a dry run. */
  hide(from: number): OpenLine[] {
    const hidden = this.#open.splice(from);
    for (const { key } of hidden) this.#known.delete(key);
    return hidden;
  }

  /** Stores that an upload has processed all its lines. */
  async end(): Promise<void> {
    if (this.#open.length > 0) await this.#mark({ v: 1, lines: [], mark: "end" });
  }

  /** Stores that the lines from `from` on are taken back. From now on, no upload finds them. */
  async take(from: number): Promise<void> {
    const first = this.#open[from];
    if (first !== undefined) await this.#mark({ v: 1, lines: [], mark: "take", from: first.key });
  }

  /** Stores that the entries of all lines that were taken back are deleted. */
  async taken(): Promise<void> {
    if (this.#taking.length > 0) await this.#mark({ v: 1, lines: [], mark: "taken" });
  }

  /** @throws Conflict if another upload has written meanwhile */
  async #mark(body: StoredClaims): Promise<void> {
    const expect = { seq: this.#last };
    const message = { subject: this.#subject, data: JSON.stringify(body), expect, ttl: LIFETIME_SECONDS };
    const seq = await this.#deps.store.append(streams.orb(this.#orb), message);
    this.stored(message, seq);
  }

  /** Reads the messages that another upload, or an attempt with an unknown outcome, has stored. */
  async refresh(): Promise<void> {
    const stream = streams.orb(this.#orb);
    for (let pending = 1; pending > 0; ) {
      const options = { fromSeq: this.#last + 1, limit: PAGE, maxBytes: SMALL_BYTES };
      const page = await nullIfMissing(this.#deps.store.scan(stream, this.#subject, options));
      for (const message of page?.messages ?? []) {
        this.#last = message.seq;
        if (message.data.length > 0) this.#add(message.json<StoredClaims>(), message.seq);
      }
      pending = page === null || page.messages.length === 0 ? 0 : page.pending;
    }
  }

  /** Returns the entry that an earlier upload wrote for a line, or null. */
  async replay({ key, bodies }: LineClaim, context: OrbContext): Promise<Replay | null> {
    const found = this.#known.get(key);
    if (found === undefined) return null;
    if (bodies.includes(found.body)) return answerAt(this.#deps, context, found.seq);
    const detail = "This idempotencyKey was already used for a different line. Use a new key.";
    throw new AppError("invalid", "idempotency_mismatch", detail);
  }

  /**
   * Returns the message that stores the keys of a batch. It must be the last one of the batch.
   * @param lines for each line, the number of messages from its revision to this message
   * @param own whether the batch also has lines whose keys have a message each
   */
  message(lines: readonly { claim: LineClaim; distance: number }[], own: boolean): Append {
    const body: StoredClaims = {
      v: 1,
      lines: lines.map(({ claim: { key, bodies }, distance }) => [key, bodies[0] ?? "", distance]),
      ...(own ? { own: true } : {}),
    };
    const expect = { seq: this.#last };
    return { subject: this.#subject, data: JSON.stringify(body), expect, ttl: LIFETIME_SECONDS };
  }

  /** Remembers a message that was stored. */
  stored(message: Append, seq: number): void {
    this.#last = seq;
    this.#add(JSON.parse(String(message.data)) as StoredClaims, seq);
  }

  #add({ lines, own, mark, from }: StoredClaims, seq: number): void {
    if (own === true) this.#hasOwn = true;
    for (const [key, body, distance] of lines) {
      this.#known.set(key, { body, seq: seq - distance });
      this.#open.push({ key, seq: seq - distance });
    }
    if (mark === "end") this.#open = [];
    // Keys expire in their order. So if the first one is gone, all that are left were after it.
    if (mark === "take")
      this.#taking = this.hide(
        Math.max(
          0,
          this.#open.findIndex(({ key }) => key === from),
        ),
      );
    if (mark === "taken") this.#taking = [];
  }
}
