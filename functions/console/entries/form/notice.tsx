import type { ComponentChildren } from "preact";
import { Icon } from "../../ui/icon.tsx";

/** Moves the focus to the first input that is wrong, after the faults are shown. */
export function focusFault(): void {
  setTimeout(() => {
    const first =
      document.querySelector<HTMLElement>("main [aria-invalid=true]") ??
      document.querySelector<HTMLElement>("main .problem");
    first?.focus();
    first?.scrollIntoView({ block: "center" });
  });
}

/** Says something about the whole form. */
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
