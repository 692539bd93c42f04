/** One check of a value against a schema: where it is, what did not fit, and how much work it may still take. */
import type { Fault } from "../errors.ts";
import { pointer } from "../orb/faults.ts";

/** Most faults of one value that are told. */
const MAX_FAULTS = 50;

/**
 * Work of one check, in steps of 50 to 150 ns: a body of 512 KiB full of small records takes a tenth of it, and what is made up
 * to hold the thread is given up within half a second.
 */
const STEPS = 3_000_000;

/** Thrown when a check takes more work than it may. */
export class TooMuchWork extends Error {}

/** Faults by path and code: each is told once. */
export type Told = ReadonlyMap<string, Fault>;

const NOTHING: Told = new Map();

/** What became of a value and a schema. */
export interface Outcome {
  valid: boolean;
  told: Told;
  /** Names and indices that the schema knows. */
  seen: ReadonlySet<string | number> | undefined;
}

/** The state of one check. */
export class Run {
  /** From the value to what is looked at. */
  readonly path: (string | number)[] = [];
  #told: Map<string, Fault> | undefined;
  #silent = false;
  #left = STEPS;
  readonly #outcomes = new Map<object, Map<object, Outcome>>();

  /** @throws TooMuchWork when there is none left */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchWork();
  }

  /** What did not fit so far, in the order in which it was found. */
  faults(): Fault[] {
    return [...(this.#told ?? NOTHING).values()];
  }

  /** @param below the property that the fault is about, where it is not the value itself. @returns false */
  fault(code: string, message: string, below?: string): false {
    if (this.#silent || (this.#told !== undefined && this.#told.size >= MAX_FAULTS)) return false;
    this.spend(10 + this.path.length);
    const path = pointer(below === undefined ? this.path : [...this.path, below]);
    this.#add(`${path} ${code}`, { path, code, message });
    return false;
  }

  /** Tells what was kept apart. */
  tell(told: Told): void {
    this.spend(told.size);
    for (const [key, fault] of told) this.#add(key, fault);
  }

  #add(key: string, fault: Fault): void {
    if (this.#silent) return;
    this.#told ??= new Map();
    if (this.#told.size < MAX_FAULTS && !this.#told.has(key)) this.#told.set(key, fault);
  }

  /** Keeps apart what `act` tells: it counts only if nothing else fits. */
  apart(act: () => boolean): { valid: boolean; told: Told } {
    this.spend(2);
    const before = this.#told;
    this.#told = undefined;
    const valid = act();
    const told = this.#told ?? NOTHING;
    this.#told = before;
    return { valid, told };
  }

  /** Whether something fits, without a word on why it does not. */
  silently(act: () => boolean): boolean {
    const before = this.#silent;
    this.#silent = true;
    const valid = act();
    this.#silent = before;
    return valid;
  }

  /**
   * What becomes of a value under a schema that others refer to, worked out once: schemas that refer to themselves in
   * several ways would double the work with each level of the value.
   */
  once(node: object, value: object, act: () => Outcome): Outcome {
    this.spend(10);
    let known = this.#outcomes.get(node);
    if (known === undefined) {
      known = new Map();
      this.#outcomes.set(node, known);
    }
    let outcome = known.get(value);
    // What was worked out in silence has no words.
    if (outcome === undefined || (!this.#silent && !outcome.valid && outcome.told.size === 0)) {
      outcome = act();
      known.set(value, outcome);
    }
    return outcome;
  }
}
