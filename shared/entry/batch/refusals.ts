/** Collects why items of a batch are refused, and says which ones. */
import { AppError, type Fault, isSilence } from "../../kernel/errors.ts";

/** Returns an error with paths in the request. */
function ofItem(index: number, error: AppError): AppError {
  const { kind, code, detail, data, retryAfter, cause } = error;
  const errors = faultsOf(index, error);
  const more = { errors, data: { ...data, item: index }, retryAfter, cause };
  return new AppError(kind, code, `Item ${index} is refused, so nothing was written. ${detail}`, more);
}

function faultsOf(index: number, { code, detail, errors }: AppError): Fault[] {
  const path = `/do/${index}`;
  if (errors === undefined || errors.length === 0) return [{ path, code, message: detail }];
  return errors.map((fault) => ({ ...fault, path: path + fault.path }));
}

export class Refusals {
  readonly #errors = new Map<number, AppError>();

  /** Returns why an item was refused. */
  of(index: number): AppError | undefined {
    return this.#errors.get(index);
  }

  /** All refusals, by their items. */
  get all(): ReadonlyMap<number, AppError> {
    return this.#errors;
  }

  add(index: number, error: AppError): void {
    if (!this.#errors.has(index)) this.#errors.set(index, error);
  }

  /** Runs the work of one item. Returns undefined if the item is refused. Throws all other errors. */
  async try<T>(index: number, work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AppError) || error.kind === "internal" || isSilence(error)) throw error;
      this.add(index, error);
      return undefined;
    }
  }

  /**
   * Throws the error of the first refused item. If its values are not valid, the error also has the faults of all other
   * items whose values are not valid.
   */
  throwAny(): void {
    const [first] = [...this.#errors].sort(([a], [b]) => a - b);
    if (first === undefined) return;
    const [index, error] = first;
    const { kind, code } = error;
    if (code !== "validation_failed") throw ofItem(index, error);
    const all = [...this.#errors].sort(([a], [b]) => a - b).filter(([, one]) => one.code === code);
    const errors = all.flatMap((one) => faultsOf(...one));
    const detail =
      errors.length === 1
        ? `One value of item ${index} is not valid, so nothing was written.`
        : `${errors.length} values are not valid, so nothing was written.`;
    throw new AppError(kind, code, detail, { errors, data: { item: index } });
  }
}
