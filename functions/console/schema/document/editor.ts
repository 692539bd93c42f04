/** The state of the document editor. It contains the document as an object for the form, and as JSON text. */
import { computed, effect, type Signal, signal } from "@preact/signals";
import type { Fault } from "../../../../shared/client/problem.ts";
import { checkOrb, publishRevision } from "../../api/documents.ts";
import {
  type DryRun,
  type OrbDocument,
  type OrbState,
  proposeOrb,
  readOrb,
  readProposed,
  updateOrb,
} from "../../api/orbs.ts";
import { keep, refresh } from "../../state/cache.ts";
import { setsKey } from "../../state/change.ts";
import { faultsOf } from "../../ui/problem.tsx";
import { type ParsedText, parseText } from "./json-text.ts";
import { isList, isObject, type Json, type JsonObject, outer, same, valueAt } from "./pointer.ts";

/** The stored revision that the changes are based on. */
export interface Base {
  document: JsonObject;
  state: OrbState;
}

interface Step {
  document: JsonObject;
  text: string;
  selected: string;
}

export type Check = "none" | "running" | "done" | "failed";

/** Properties of the API's response that are not part of the document. */
const STATE = ["status", "revision", "publishedRevision", "createdAt", "createdBy", "updatedAt", "updatedBy"];

export function baseOf(orb: OrbDocument): Base {
  const entries = Object.entries(orb).filter(([name]) => !STATE.includes(name));
  const { status, revision, publishedRevision, createdAt, createdBy, updatedAt, updatedBy } = orb;
  return {
    document: Object.fromEntries(entries) as JsonObject,
    state: { status, revision, publishedRevision, createdAt, createdBy, updatedAt, updatedBy },
  };
}

export const printed = (document: unknown): string => JSON.stringify(document, null, 2);

/** The validation starts when the user has changed nothing for this many milliseconds. */
const PAUSE = 350;
/** Edits of the same value within this many milliseconds form one undo step. */
const ONE_STEP = 1_000;
const MOST_STEPS = 200;

/** Where unsaved changes are kept. */
const keyOf = (orb: string, change: string | undefined) =>
  `console.schema.${orb}${change === undefined ? "" : `/${change}`}`;

/** Returns the cache key of the document of an application. @param change id of the change set that contains it */
export const documentKey = (orb: string, change: string | undefined): string =>
  change === undefined ? `document/${orb}` : setsKey(orb, change, "document");

/** Reads the document that the editor edits. */
export const readDocument = (
  orb: string,
  change: string | undefined,
  signal?: AbortSignal,
): Promise<OrbDocument> => (change === undefined ? readOrb(orb, signal) : readProposed(orb, change, signal));

interface Kept {
  base: Base;
  document: JsonObject;
  text: string;
}

function kept(key: string): Kept | undefined {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(key) ?? "null");
    return isObject(found) && isObject(found.base) && isObject(found.document)
      ? (found as unknown as Kept)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether there is nothing at a path that the user has typed. */
const isBlank = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  isObject(value) ||
  (isList(value) && value.length === 0);

/** Returns a JSON Pointer. For a missing list item, returns the pointer to its closest existing ancestor. */
export function nearest(document: JsonObject, path: string): string {
  let inner = path;
  while (/\/\d+$/.test(inner) && valueAt(document, inner) === undefined) inner = outer(inner);
  return inner;
}

export class Editor {
  readonly orb: string;
  /** Id of the change set into which the document is saved. Undefined outside of a set. */
  readonly change: string | undefined;
  readonly base: Signal<Base>;
  readonly document: Signal<JsonObject>;
  readonly text: Signal<string>;
  readonly parsed: Signal<ParsedText>;
  /** JSON Pointer to the part of the document that the form shows. */
  readonly selected: Signal<string>;
  readonly faults = signal<readonly Fault[]>([]);
  /** Paths of the inputs that the user has left. */
  readonly touched = signal<ReadonlySet<string>>(new Set());
  /** Whether the user has tried to save or to publish. */
  readonly tried = signal(false);
  /**
   * The faults to show: all, except those of new items whose inputs are still empty, until the user has left the input.
   * After the first attempt to save, all faults are shown.
   */
  readonly shownFaults = computed(() =>
    this.tried.value
      ? this.faults.value
      : this.faults.value.filter(
          ({ path }) =>
            [...this.touched.value].some((one) => one === path || one.startsWith(`${path}/`)) ||
            !isBlank(valueAt(this.document.value, path)) ||
            valueAt(this.base.value.document, outer(path)) !== undefined,
        ),
  );
  readonly check = signal<Check>("none");
  readonly effects = signal<DryRun | undefined>(undefined);
  /** A newer revision, saved by another user, that conflicts with unsaved changes. */
  readonly theirs = signal<Base | undefined>(undefined);
  readonly restored: boolean;
  readonly past = signal<readonly Step[]>([]);
  readonly future = signal<readonly Step[]>([]);
  readonly broken = computed(() => this.parsed.value.fault !== undefined);
  readonly dirty = computed(() => this.broken.value || !same(this.document.value, this.base.value.document));
  #last = { tag: "", at: 0 };
  #abort: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop: (() => void)[] = [];

  constructor(orb: OrbDocument, selected: string, change?: string) {
    const newest = baseOf(orb);
    const draft = kept(keyOf(orb.id, change));
    this.orb = orb.id;
    this.change = change;
    this.restored = draft !== undefined;
    this.base = signal(draft?.base ?? newest);
    this.document = signal(draft?.document ?? newest.document);
    this.text = signal(draft?.text ?? printed(newest.document));
    this.parsed = signal(parseText(this.text.value));
    this.selected = signal(nearest(this.document.value, selected));
    if (draft !== undefined) this.meet(newest);
  }

  /** Call this when the user leaves an input. */
  touch(path: string): void {
    if (!this.touched.peek().has(path)) this.touched.value = new Set([...this.touched.peek(), path]);
  }

  /** Starts to validate unsaved changes, and to store them so that they survive a reload. */
  start(): void {
    const key = keyOf(this.orb, this.change);
    const keepDraft = () => {
      try {
        if (!this.dirty.value) sessionStorage.removeItem(key);
        else {
          const draft: Kept = { base: this.base.value, document: this.document.value, text: this.text.value };
          sessionStorage.setItem(key, JSON.stringify(draft));
        }
      } catch {
        // Storage is blocked or full. The page still warns before the user leaves it.
      }
    };
    const back = () => {
      if (document.visibilityState === "visible") void this.look();
    };
    document.addEventListener("visibilitychange", back);
    this.#stop = [
      effect(keepDraft),
      effect(() => {
        const { value } = this.document;
        const waits = this.broken.value || this.theirs.value !== undefined;
        this.#schedule(waits || same(value, this.base.value.document));
      }),
      () => document.removeEventListener("visibilitychange", back),
    ];
  }

  stop(): void {
    for (const one of this.#stop) one();
    clearTimeout(this.#timer);
    this.#abort?.abort();
  }

  /** @param tag describes the edit; consecutive edits with the same tag are undone in one step */
  edit(next: JsonObject, tag = ""): void {
    if (next === this.document.value) return;
    this.#step(tag);
    this.#show(next, printed(next));
  }

  type(text: string): void {
    this.#step("text");
    const parsed = parseText(text);
    this.text.value = text;
    this.parsed.value = parsed;
    if (isObject(parsed.value)) this.document.value = parsed.value;
    this.selected.value = nearest(this.document.value, this.selected.value);
  }

  select(path: string): void {
    this.selected.value = nearest(this.document.value, path);
  }

  undo = (): void => this.#travel(this.past, this.future);
  redo = (): void => this.#travel(this.future, this.past);

  /** Discards all changes since the stored revision. The user can undo this. */
  discard(): void {
    this.edit(this.base.value.document);
  }

  /** Replaces invalid text with the last valid document. */
  discardText(): void {
    this.#step("");
    this.#show(this.document.value, printed(this.document.value));
  }

  /** Checks whether another user has saved a newer revision. */
  async look(): Promise<void> {
    try {
      this.meet(baseOf(await readDocument(this.orb, this.change)));
    } catch {
      // Ignore the error, because the next validation or write reports it.
    }
  }

  /** Shows a newer revision, or reports a conflict if there are unsaved changes. */
  meet(newest: Base): void {
    const known = this.base.value.state.revision;
    // Another user may have taken the document out of the set. The live one has a smaller number.
    if (this.change === undefined ? newest.state.revision <= known : newest.state.revision === known) return;
    if (same(newest.document, this.base.value.document)) this.base.value = newest;
    else if (this.dirty.value) this.theirs.value = newest;
    else {
      this.base.value = newest;
      this.edit(newest.document);
    }
  }

  /** After a conflict, replaces the document with one that is based on the newest revision. */
  rebase(newest: Base, document: JsonObject): void {
    this.theirs.value = undefined;
    this.edit(document);
    this.base.value = newest;
  }

  /** @throws Problem, TypeError */
  async save(how: { publish?: boolean; force?: boolean }): Promise<void> {
    const { document, orb, change } = this;
    this.tried.value = true;
    const sent = document.value;
    const { revision, publishedRevision } = this.base.value.state;
    const force = how.force === true;
    const options = { revision, ...(force ? { force } : {}) };
    const write = () => {
      if (change !== undefined) return proposeOrb(orb, sent, { change, ...options });
      return how.publish === true && !this.dirty.value && publishedRevision !== revision
        ? publishRevision(orb, revision, force)
        : updateOrb(orb, sent, { ...options, ...(how.publish === true ? { publish: true } : {}) });
    };
    try {
      this.took(await write(), sent);
    } catch (error) {
      this.faults.value = faultsOf(error);
      await this.look();
      throw error;
    }
  }

  /** Makes a stored revision the new base. Keeps edits that the user made while the request was pending. */
  took(made: OrbDocument, sent = this.document.value): void {
    this.tried.value = false;
    this.touched.value = new Set();
    this.base.value = baseOf(made);
    if (this.document.value === sent && !this.broken.value)
      this.#show(this.base.value.document, printed(this.base.value.document));
    keep(documentKey(this.orb, this.change), made);
    refresh(`history/${this.orb}`);
    refresh("orbs");
  }

  #show(document: JsonObject, text: string): void {
    this.document.value = document;
    this.text.value = text;
    this.parsed.value = parseText(text);
    this.selected.value = nearest(document, this.selected.value);
  }

  #now(): Step {
    return { document: this.document.value, text: this.text.value, selected: this.selected.value };
  }

  #step(tag: string): void {
    const now = performance.now();
    const continues = tag !== "" && tag === this.#last.tag && now - this.#last.at < ONE_STEP;
    this.#last = { tag, at: now };
    this.future.value = [];
    if (!continues) this.past.value = [...this.past.value.slice(-MOST_STEPS), this.#now()];
  }

  #travel(from: Signal<readonly Step[]>, to: Signal<readonly Step[]>): void {
    const step = from.value.at(-1);
    if (step === undefined) return;
    to.value = [...to.value, this.#now()];
    from.value = from.value.slice(0, -1);
    this.#last = { tag: "", at: 0 };
    this.#show(step.document, step.text);
    this.select(step.selected);
  }

  #schedule(nothing: boolean): void {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    if (nothing) {
      this.check.value = "none";
      if (!this.broken.peek()) this.faults.value = [];
      this.effects.value = undefined;
      return;
    }
    this.check.value = "running";
    this.#timer = setTimeout(() => void this.recheck(), PAUSE);
  }

  /** Validates the document with a dry run. If the user edits the document in the meantime, the run is cancelled. */
  async recheck(): Promise<void> {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    this.check.value = "running";
    const finish = (check: Check, faults: readonly Fault[], effects?: DryRun) => {
      if (abort.signal.aborted) return;
      this.faults.value = faults;
      this.effects.value = effects;
      this.check.value = check;
    };
    try {
      const { revision } = this.base.peek().state;
      const { change } = this;
      const found = await checkOrb(this.orb, this.document.peek(), {
        revision,
        change,
        signal: abort.signal,
      });
      finish("done", [], found);
    } catch (error) {
      const faults = faultsOf(error);
      finish(faults.length > 0 ? "done" : "failed", faults);
      if (!abort.signal.aborted && faults.length === 0) await this.look();
    }
  }
}
