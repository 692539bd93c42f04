import type { ComponentChildren } from "preact";
import { Link as RouteLink } from "wouter-preact";
import { Icon, type IconName } from "./icon.tsx";

/** A link to a page of the console. `to` is the path below /console. */
export function Link(props: { to: string; class?: string; children: ComponentChildren; title?: string }) {
  const { to, children, ...rest } = props;
  return (
    <RouteLink href={to} {...rest}>
      {children}
    </RouteLink>
  );
}

/** A link that looks like a button. */
export function LinkButton({
  to,
  icon,
  kind = "plain",
  small,
  children,
}: {
  to: string;
  icon?: IconName;
  kind?: "primary" | "plain" | "quiet";
  small?: boolean;
  children: ComponentChildren;
}) {
  return (
    <RouteLink href={to} class={`button ${kind} ${small === true ? "small" : ""}`}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </RouteLink>
  );
}
