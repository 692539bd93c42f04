import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Icon, type IconName } from "./icon.tsx";

type Attributes = Omit<JSX.HTMLAttributes<HTMLButtonElement>, "icon" | "size">;

interface ButtonProps extends Attributes {
  kind?: "primary" | "plain" | "danger" | "quiet";
  size?: "small";
  icon?: IconName;
  /** Whether the button's action is running. The button is disabled until the action ends. */
  busy?: boolean;
  disabled?: boolean;
  type?: "button" | "submit";
  form?: string;
  children?: ComponentChildren;
}

export function Button({
  kind = "plain",
  size,
  icon,
  busy,
  disabled,
  children,
  type = "button",
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      class={`button ${kind} ${size ?? ""} ${rest.class ?? ""} ${busy === true && icon === undefined ? "busy" : ""}`}
      disabled={disabled}
      aria-disabled={busy === true ? "true" : undefined}
      onClick={busy === true ? (event) => event.preventDefault() : rest.onClick}
    >
      {busy === true ? (
        <span class="spinner" aria-hidden="true" />
      ) : icon === undefined ? null : (
        <Icon name={icon} />
      )}
      {children}
    </button>
  );
}

/** A button that shows only an icon. Its label appears as a tooltip, and screen readers read it. */
export function IconButton({
  label,
  icon,
  ...rest
}: Attributes & { label: string; icon: IconName; disabled?: boolean }) {
  return (
    <button
      {...rest}
      type="button"
      class={`button quiet square ${rest.class ?? ""}`}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </button>
  );
}

/** A button that copies a text to the clipboard, and briefly confirms this. */
export function CopyButton({ text, label = t("ui.copy") }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  return (
    <IconButton label={copied ? t("ui.copied") : label} icon={copied ? "check" : "copy"} onClick={copy} />
  );
}
