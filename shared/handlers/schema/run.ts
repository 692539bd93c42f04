/** The state of one validation: current path, faults, and remaining budget. */
import type { Fault } from "../../kernel/errors.ts";
import { pointer } from "../../kernel/faults.ts";

/** Maximum number of reported faults per value. */
const MAX_FAULTS = 50;

/**
 * Budget of one validation in steps of 50 to 150 ns. A 512 KiB body of small records needs a tenth of it, and a value
 * that is built to block the thread exhausts it within half a second.
 */
const STEPS = 3_000_000;

/** Thrown when the budget is exhausted. */
export class TooMuchWork extends Error {}

/** Faults by path and code, without duplicates. */
export type FaultMap = ReadonlyMap<string, Fault>;

const NOTHING: FaultMap = new Map();

/** Result of validating one value with one schema. */
export interface Outcome {
  valid: boolean;
  faults: FaultMap;
  /** Evaluated properties and items. */
  seen: ReadonlySet<string | number> | undefined;
}

/** The state of one check. */
export class Run {
  /** Path from the root to the current value. */
  readonly path: (string | number)[] = [];
  #faults: Map<string, Fault> | undefined;
  #silent = false;
  #left = STEPS;
  readonly #outcomes = new Map<object, Map<object, Outcome>>();

  /** @throws TooMuchWork if the budget is exhausted */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchWork();
  }

  /** Faults so far, in order. */
  faults(): Fault[] {
    return [...(this.#faults ?? NOTHING).values()];
  }

  /** Reports a fault. @param below name of a property of the current value that has the fault. @returns false */
  fault(code: string, message: string, below?: string): false {
    if (this.#silent || (this.#faults !== undefined && this.#faults.size >= MAX_FAULTS)) return false;
    this.spend(10 + this.path.length);
    const path = pointer(below === undefined ? this.path : [...this.path, below]);
    this.#add(`${path} ${code}`, { path, code, message });
    return false;
  }

  /** Adds faults that {@link Run.apart} has collected. */
  report(faults: FaultMap): void {
    this.spend(faults.size);
    for (const [key, fault] of faults) this.#add(key, fault);
  }

  #add(key: string, fault: Fault): void {
    if (this.#silent) return;
    this.#faults ??= new Map();
    if (this.#faults.size < MAX_FAULTS && !this.#faults.has(key)) this.#faults.set(key, fault);
  }

  /** Collects the faults of `act` separately. They count only if no other branch matches. */
  apart(act: () => boolean): { valid: boolean; faults: FaultMap } {
    this.spend(2);
    const before = this.#faults;
    this.#faults = undefined;
    const valid = act();
    const faults = this.#faults ?? NOTHING;
    this.#faults = before;
    return { valid, faults };
  }

  /** Whether a value matches, without reporting faults. */
  silently(act: () => boolean): boolean {
    const before = this.#silent;
    this.#silent = true;
    const valid = act();
    this.#silent = before;
    return valid;
  }

  /**
   * Memoizes the result of a value for a referenced schema. Without this, schemas that refer to themselves several
   * times would double the work with each level of the value.
   */
  once(node: object, value: object, act: () => Outcome): Outcome {
    this.spend(10);
    let known = this.#outcomes.get(node);
    if (known === undefined) {
      known = new Map();
      this.#outcomes.set(node, known);
    }
    let outcome = known.get(value);
    // A result without reported faults cannot be reused for a report.
    if (outcome === undefined || (!this.#silent && !outcome.valid && outcome.faults.size === 0)) {
      outcome = act();
      known.set(value, outcome);
    }
    return outcome;
  }
}
