/** Components that replace the content of a page while it loads, after an error, or if there is no content. */
import type { ComponentChildren } from "preact";
import { t } from "../texts/t.ts";
import { Icon, type IconName } from "./icon.tsx";
import { ProblemBox } from "./problem.tsx";

/** Shows that content is loading. Appears after a short delay, so that quick responses cause no flicker. */
export function Loading({ text = t("ui.loading") }: { text?: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {text}
    </p>
  );
}

/** Says that there is nothing to show yet, and what the user can do. */
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

/** Shows the loaded data, or the error if loading fails. If only a reload fails, the earlier data stays visible. */
export function Shows<T>({ of, children }: { of: Shown<T>; children: (data: T) => ComponentChildren }) {
  const { data, error, reload } = of;
  return (
    <>
      {error === undefined ? null : <ProblemBox error={error} retry={() => void reload()} />}
      {data === undefined ? error === undefined ? <Loading /> : null : children(data)}
    </>
  );
}

/** Shows a progress bar. `done` is the finished fraction of the work, from 0 to 1; undefined if unknown. */
export function Progress({ done, label }: { done: number | undefined; label: string }) {
  return (
    <div class="progress">
      <progress aria-label={label} {...(done === undefined ? {} : { value: done })} max={1} />
      <span>{label}</span>
    </div>
  );
}

/** Shows the result of a nearby button. Screen readers read both texts when they change. */
export function Said({ id, status, error }: { id?: string; status: string; error: string }) {
  return (
    <div class="said" id={id}>
      <p role="status" class="status">
        {status}
      </p>
      <p role="alert" class="error">
        {error}
      </p>
    </div>
  );
}
