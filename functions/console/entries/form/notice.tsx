import type { ComponentChildren } from "preact";
import { Icon } from "../../ui/icon.tsx";

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
