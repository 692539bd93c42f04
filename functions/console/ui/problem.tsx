/** Shows error responses of the platform (RFC 9457) as text. */
import type { ComponentChildren } from "preact";
import { type Fault, isProblem } from "../../../shared/client/problem.ts";
import { faultText } from "../texts/faults.ts";
import { t } from "../texts/t.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** Returns a text that says what went wrong and how to fix it. */
export function wordsOf(error: unknown): string {
  if (isProblem(error)) return error.message;
  if (error instanceof TypeError) return t("problem.unreachable");
  return error instanceof Error ? error.message : String(error);
}

/**
 * Returns the validation errors of a rejected request. Their paths are JSON Pointers to values in the request body.
 */
export const faultsOf = (error: unknown): readonly Fault[] => (isProblem(error) ? error.errors : []);

/** Returns the first error message for a path, such as `/values/title`, or for a path below it. */
export function faultAt(faults: readonly Fault[], path: string): string | undefined {
  const found = faults.filter((fault) => fault.path === path || fault.path.startsWith(`${path}/`));
  return found.length === 0 ? undefined : found.map(faultText).join("; ");
}

/**
 * Returns the validation errors that no field of the form shows.
 * @param shown paths that the form shows
 */
export function otherFaults(faults: readonly Fault[], shown: readonly string[]): readonly Fault[] {
  return faults.filter(({ path }) => !shown.some((one) => path === one || path.startsWith(`${one}/`)));
}

/** Shows an error with the validation errors that it contains, and a button to try again. */
export function ProblemBox({
  error,
  retry,
  children,
}: {
  error: unknown;
  retry?: (() => void) | undefined;
  children?: ComponentChildren;
}) {
  const faults = faultsOf(error);
  const words = wordsOf(error);
  /** Whether the text only repeats the validation errors. The list below shows them with their paths. */
  const repeats = faults.length > 0 && words === faults.map(({ message }) => message).join(" ");
  const request = isProblem(error) ? error.requestId : null;
  return (
    <div class="problem" role="alert">
      <Icon name="circleAlert" size={20} />
      <div>
        {repeats ? null : <p>{words}</p>}
        {faults.length === 0 ? null : (
          <ul>
            {faults.map((fault) => (
              <li key={`${fault.path} ${fault.message}`}>
                <code>{fault.path === "" ? "/" : fault.path}</code> {faultText(fault)}
              </li>
            ))}
          </ul>
        )}
        {children}
        {request === null || (isProblem(error) && error.status < 500) ? null : (
          <p class="hint">{t("problem.request", { id: request })}</p>
        )}
        {retry === undefined ? null : (
          <Button icon="refresh" onClick={retry}>
            {t("problem.retry")}
          </Button>
        )}
      </div>
    </div>
  );
}
