/** The input for a list: chips for short values, and else one input per item. The user can add, remove and move items. */
import { useRef } from "preact/hooks";
import { traitsOf } from "../../../shared/definition/types/index.ts";
import { type FieldModel, labelOf } from "../model/orb.ts";
import { focusSoon } from "../state/focus.ts";
import { t } from "../texts/t.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { kindOf } from "./index.ts";
import type { InputProps } from "./parts/kind.ts";
import { useOrder } from "./parts/order.ts";
import { TagsInput } from "./tags.tsx";

/** Types with values that are short enough for chips. */
const isShort = ({ type }: FieldModel) => {
  const { kind } = traitsOf(type);
  return kind === "number" || (kind === "text" && type !== "text");
};

export function ListInput(props: InputProps) {
  const { field } = props;
  return isShort(field) && field.enum === undefined ? <TagsInput {...props} /> : <Rows {...props} />;
}

/** Buttons that move or remove an item. @param name what screen readers call the item */
function RowButtons({
  name,
  at,
  last,
  onMove,
  onRemove,
}: {
  name: string;
  at: number;
  last: number;
  onMove: (to: number) => void;
  onRemove: () => void;
}) {
  return (
    <div class="list-buttons">
      <IconButton
        label={t("fields.up", { item: name })}
        icon="arrowUp"
        disabled={at === 0}
        onClick={() => onMove(at - 1)}
      />
      <IconButton
        label={t("fields.down", { item: name })}
        icon="arrowDown"
        disabled={at === last}
        onClick={() => onMove(at + 1)}
      />
      <IconButton label={t("fields.remove", { item: name })} icon="x" onClick={onRemove} />
    </div>
  );
}

/** The items of the list, and the changes of their order and number. */
function useRows({ value, onChange, onFault }: InputProps) {
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
    focusSoon(() => {
      const row = list.current?.children[Math.min(focus, next.length - 1)];
      return row?.querySelector<HTMLElement>("input, select, textarea, button");
    });
  };
  return {
    ...{ items, list, tell, put },
    move(from: number, to: number) {
      if (to < 0 || to >= items.length || from === to) return;
      const next = [...items];
      next.splice(to, 0, ...next.splice(from, 1));
      put(next, to);
    },
    remove(at: number) {
      tell(at, undefined);
      put(items.toSpliced(at, 1), at);
    },
  };
}

function Rows(props: InputProps) {
  const { field, attributes, disabled } = props;
  const { Input } = kindOf(field);
  const { items, list, tell, put, move, remove } = useRows(props);
  const name = (number: number) => t("fields.item", { field: labelOf(field), number });
  const order = useOrder(move, disabled === true);
  return (
    <div class="list-input">
      <ol ref={list}>
        {items.map((item, at) => (
          <li key={at} {...order.item(at)}>
            {disabled === true || items.length < 2 ? null : (
              <span class="grip" title={t("fields.drag")} {...order.handle(at, name(at + 1))}>
                <Icon name="gripVertical" />
              </span>
            )}
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
              <RowButtons
                {...{ at, name: name(at + 1), last: items.length - 1 }}
                onMove={(to) => move(at, to)}
                onRemove={() => remove(at)}
              />
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
