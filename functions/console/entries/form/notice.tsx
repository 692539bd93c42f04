import type { ComponentChildren } from "preact";
import { focusSoon } from "../../state/focus.ts";
import { Icon } from "../../ui/icon.tsx";

/** Focuses the first invalid input after the errors have been rendered. */
export function focusFault(): void {
  focusSoon(() => {
    const first =
      document.querySelector<HTMLElement>("main [aria-invalid=true]") ??
      document.querySelector<HTMLElement>("main .problem");
    first?.scrollIntoView({ block: "center" });
    return first;
  });
}

/** A message about the whole form. */
export function Notice({
  children,
  icon,
}: {
  children: ComponentChildren;
  icon: "info" | "lock" | "triangleAlert";
}) {
  return (
    <div class={`entry-notice ${icon === "triangleAlert" ? "warning" : ""}`} role="status">
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}
