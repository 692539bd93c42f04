import type { Fault } from "../../kernel/errors.ts";
import { pointer } from "../../kernel/faults.ts";

const MAX_FAULTS = 50;

/**
 * Maximum steps of one validation. A step takes 50 to 150 ns. A normal body of 512 KiB needs a tenth of this number.
 */
const STEPS = 3_000_000;

export class TooMuchWork extends Error {}

export type FaultMap = ReadonlyMap<string, Fault>;

const NOTHING: FaultMap = new Map();

export interface Outcome {
  valid: boolean;
  faults: FaultMap;
  seen: ReadonlySet<string | number> | undefined;
}

export class Run {
  readonly path: (string | number)[] = [];
  #faults: Map<string, Fault> | undefined;
  #silent = false;
  #left = STEPS;
  readonly #outcomes = new Map<object, Map<object, Outcome>>();

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchWork();
  }

  faults(): Fault[] {
    return [...(this.#faults ?? NOTHING).values()];
  }

  /**
   * Reports an error at the current path.
   * @param below property of the current value that has the error
   */
  fault(code: string, message: string, below?: string): false {
    if (this.#silent || (this.#faults !== undefined && this.#faults.size >= MAX_FAULTS)) return false;
    this.spend(10 + this.path.length);
    const path = pointer(below === undefined ? this.path : [...this.path, below]);
    this.#add(`${path} ${code}`, { path, code, message });
    return false;
  }

  report(faults: FaultMap): void {
    this.spend(faults.size);
    for (const [key, fault] of faults) this.#add(key, fault);
  }

  #add(key: string, fault: Fault): void {
    if (this.#silent) return;
    this.#faults ??= new Map();
    if (this.#faults.size < MAX_FAULTS && !this.#faults.has(key)) this.#faults.set(key, fault);
  }

  /**
   * Collects the errors of one alternative (of `anyOf` or `oneOf`). They are reported only if no alternative matches.
   */
  apart(act: () => boolean): { valid: boolean; faults: FaultMap } {
    this.spend(2);
    const before = this.#faults;
    this.#faults = undefined;
    const valid = act();
    const faults = this.#faults ?? NOTHING;
    this.#faults = before;
    return { valid, faults };
  }

  silently(act: () => boolean): boolean {
    const before = this.#silent;
    this.#silent = true;
    const valid = act();
    this.#silent = before;
    return valid;
  }

  /**
   * Returns the earlier result if the same schema has already validated the same value. Otherwise, each level of a
   * recursive schema could double the work.
   */
  once(node: object, value: object, act: () => Outcome): Outcome {
    this.spend(10);
    let known = this.#outcomes.get(node);
    if (known === undefined) {
      known = new Map();
      this.#outcomes.set(node, known);
    }
    let outcome = known.get(value);
    // A silent validation collects no errors. If the earlier one was silent and failed, validate the value again to get
    // the errors.
    if (outcome === undefined || (!this.#silent && !outcome.valid && outcome.faults.size === 0)) {
      outcome = act();
      known.set(value, outcome);
    }
    return outcome;
  }
}
