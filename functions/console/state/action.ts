import { useState } from "preact/hooks";

export interface Action {
  busy: boolean;
  /** The error of the latest run; undefined if the run succeeded. */
  error: unknown;
  /** Runs the work of a form or button, and stores its error. */
  run: (work: () => Promise<unknown>) => Promise<void>;
}

/** The state of a form or button that sends a request. */
export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  return {
    busy,
    error,
    async run(work) {
      setBusy(true);
      setError(undefined);
      try {
        await work();
      } catch (reason) {
        setError(reason);
      } finally {
        setBusy(false);
      }
    },
  };
}
