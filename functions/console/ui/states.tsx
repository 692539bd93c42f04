/** Pages without content: while it loads, when it failed, and when there is none. */
import type { ComponentChildren } from "preact";
import { t } from "../texts/t.ts";
import { Icon, type IconName } from "./icon.tsx";
import { ProblemBox } from "./problem.tsx";

/** Shows that something is being loaded. Appears after a moment, so that quick answers do not flicker. */
export function Loading({ text = t("ui.loading") }: { text?: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {text}
    </p>
  );
}

/** Says that there is nothing yet, and what to do next. */
export function Empty({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface Shown<T> {
  data: T | undefined;
  error: unknown;
  reload: () => Promise<void>;
}

/** Shows loaded data, or why there is none. Kept data stays on the screen when a reload fails. */
export function Shows<T>({ of, children }: { of: Shown<T>; children: (data: T) => ComponentChildren }) {
  const { data, error, reload } = of;
  return (
    <>
      {error === undefined ? null : <ProblemBox error={error} retry={() => void reload()} />}
      {data === undefined ? error === undefined ? <Loading /> : null : children(data)}
    </>
  );
}

/** The share of work that is done, from 0 to 1; undefined if it is not known. */
export function Progress({ done, label }: { done: number | undefined; label: string }) {
  return (
    <div class="progress">
      <progress aria-label={label} {...(done === undefined ? {} : { value: done })} max={1} />
      <span>{label}</span>
    </div>
  );
}
