/** The input for a list: one input per item. The user can add, remove and move items. */
import { useRef } from "preact/hooks";
import { labelOf } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { kindOf } from "./index.ts";
import type { InputProps } from "./kind.ts";

export function ListInput(props: InputProps) {
  const { field, value, onChange, attributes, disabled, onFault } = props;
  const { Input } = kindOf(field);
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const list = useRef<HTMLOListElement>(null);
  const faults = useRef(new Map<number, string>());
  const tell = (at: number, message: string | undefined) => {
    if (message === undefined) faults.current.delete(at);
    else faults.current.set(at, message);
    onFault?.([...faults.current.values()][0]);
  };
  const put = (next: readonly unknown[], focus?: number) => {
    onChange(next.length === 0 ? null : next);
    if (focus === undefined) return;
    // The moved item is at its new index only after the next render. So set the focus then.
    setTimeout(() => {
      const row = list.current?.children[Math.min(focus, next.length - 1)];
      row?.querySelector<HTMLElement>("input, select, textarea, button")?.focus();
    });
  };
  const move = (from: number, to: number) => {
    if (to < 0 || to >= items.length) return;
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    put(next, to);
  };
  const name = (number: number) => t("fields.item", { field: labelOf(field), number });
  const remove = (at: number) => {
    tell(at, undefined);
    put(items.toSpliced(at, 1), at);
  };
  return (
    <div class="list-input">
      <ol ref={list}>
        {items.map((item, at) => (
          <li
            key={at}
            onKeyDown={(event) => {
              const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
              if (!event.altKey || step === 0 || disabled === true) return;
              event.preventDefault();
              move(at, at + step);
            }}
          >
            <div class="list-value">
              <Input
                {...props}
                value={item}
                attributes={{
                  ...attributes,
                  id: at === 0 ? attributes.id : `${attributes.id}-${at}`,
                  "aria-label": name(at + 1),
                }}
                onChange={(changed) => put(items.with(at, changed))}
                onFault={(message) => tell(at, message)}
              />
            </div>
            {disabled === true ? null : (
              <div class="list-buttons">
                <IconButton
                  label={t("fields.up", { item: name(at + 1) })}
                  icon="arrowUp"
                  disabled={at === 0}
                  onClick={() => move(at, at - 1)}
                />
                <IconButton
                  label={t("fields.down", { item: name(at + 1) })}
                  icon="arrowDown"
                  disabled={at === items.length - 1}
                  onClick={() => move(at, at + 1)}
                />
                <IconButton
                  label={t("fields.remove", { item: name(at + 1) })}
                  icon="x"
                  onClick={() => remove(at)}
                />
              </div>
            )}
          </li>
        ))}
      </ol>
      {disabled === true ? (
        items.length === 0 ? (
          <p class="hint">{t("fields.none")}</p>
        ) : null
      ) : (
        <Button
          size="small"
          icon="plus"
          aria-label={t("fields.addTo", { field: labelOf(field) })}
          onClick={() => put([...items, null], items.length)}
        >
          {t("fields.add")}
        </Button>
      )}
    </div>
  );
}
