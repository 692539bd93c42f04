/** The input for an object, a list of objects or blocks: the fields of each object, and buttons for the items. */
import type { ComponentType } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import { newKey } from "../../../../../shared/client/transport.ts";
import type { BlockForms } from "../../../fields/parts/kind.ts";
import { type Order, useOrder } from "../../../fields/parts/order.ts";
import { type Cell, pointerOf, valueAt } from "../../../model/cells.ts";
import {
  type FieldModel,
  isListField,
  labelOf,
  type Shape,
  shapesOf,
  titleField,
} from "../../../model/orb.ts";
import { focusSoon } from "../../../state/focus.ts";
import { t } from "../../../texts/t.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { copyText } from "../../../ui/copy.tsx";
import type { InputAttributes } from "../../../ui/form.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Menu } from "../../../ui/menu.tsx";
import { say } from "../../../ui/toast.tsx";
import type { FormContext } from "./context.ts";
import { copiedText, copyOf, isItem, pastedItems, textOfItems } from "./copies.ts";
import { useHidden } from "./hidden.ts";
import { Layout } from "./layout.tsx";

type Item = Readonly<Record<string, unknown>>;

interface Props {
  cell: Cell;
  context: FormContext;
  attributes: InputAttributes;
  /** Edits one field. Passed in, because it uses this input for objects inside objects. */
  Editor: ComponentType<{ field: FieldModel; context: FormContext }>;
}

export function ObjectInput(props: Props) {
  const { cell, context, attributes } = props;
  if (isListField(cell.field)) return <Items {...props} />;
  const [shape] = shapesOf(cell.field, context.orb);
  return (
    // biome-ignore lint/a11y/useSemanticElements: the label of the field names the group.
    <div class="object-input" role="group" id={attributes.id} aria-label={labelOf(cell.field)}>
      {shape === undefined ? null : <Members {...props} shape={shape} way={cell.way} />}
    </div>
  );
}

/** The fields of one object. */
function Members({
  cell,
  context,
  Editor,
  shape,
  way,
}: Omit<Props, "attributes"> & { shape: Shape; way: readonly string[] }) {
  const { mayField, writable } = context;
  const settable = writable.has(cell.field.name) ? shape.fields.filter((one) => mayField(one, "write")) : [];
  const own = valueAt(context.draft, { way });
  const hidden = useHidden(shape.fields, context, typeof own === "object" ? { ...own } : {});
  const isWrong = ({ name }: FieldModel) =>
    context.faults.some(({ path }) => `${path}/`.startsWith(`${pointerOf({ way: [...way, name] })}/`));
  const shown = shape.fields.filter(
    (one) => (settable.includes(one) || mayField(one, "read")) && (!hidden.has(one.name) || isWrong(one)),
  );
  const inside: FormContext = {
    ...context,
    before: way,
    writable: new Set(settable.map(({ name }) => name)),
  };
  return <Layout fields={shown} context={inside} Editor={Editor} />;
}

/** Returns how to edit the blocks of components in a field of rich text. */
export function blockFormsOf({ cell, context, Editor }: Omit<Props, "attributes">): BlockForms {
  const wayOf = (at: number) => [...cell.way, String(at)];
  return {
    shapes: shapesOf(cell.field, context.orb),
    create: (shape) => newItem(shape, true, context),
    form: (shape, at) => <Members {...{ cell, context, Editor, shape }} way={wayOf(at)} />,
    isWrong: (at) => {
      const path = pointerOf({ way: wayOf(at) });
      return context.faults.some((one) => one.path === path || one.path.startsWith(`${path}/`));
    },
    textOf,
  };
}

const keyOf = (item: unknown, at: number): string => {
  const key = typeof item === "object" && item !== null ? Reflect.get(item, "_key") : undefined;
  return typeof key === "string" ? key : String(at);
};

/** Returns a short text that tells an item from the others: its first text. */
function textOf(item: Item, shape: Shape | undefined): string {
  const fields = shape?.fields ?? [];
  const field =
    titleField({ id: "", fields }) ?? fields.find(({ type, list }) => type === "text" && list !== true);
  const value = field === undefined ? undefined : item[field.name];
  const first = typeof value === "object" && value !== null ? Object.values(value)[0] : value;
  return typeof first === "string" ? first.slice(0, 80) : "";
}

/** Returns a random key for an item of a list. */
const newItemKey = () => newKey().replaceAll("-", "").slice(0, 12);

/** Returns a new item with the defaults of its fields. The platform sets those that the caller may not set. */
function newItem(shape: Shape, isBlock: boolean, { mayField }: FormContext): Item {
  const defaults = shape.fields.flatMap((field) => {
    const varies = field.translatable === true || field.marketSpecific === true;
    if (field.default === undefined || varies || !mayField(field, "write")) return [];
    return [[field.name, field.default] as const];
  });
  return {
    ...(isBlock ? { _type: shape.component } : {}),
    _key: newItemKey(),
    ...Object.fromEntries(defaults),
  };
}

function Items(props: Props) {
  const { cell, context, attributes } = props;
  const { field } = cell;
  const shapes = shapesOf(field, context.orb);
  const value = valueAt(context.draft, cell);
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const list = useRef<HTMLOListElement>(null);
  const disabled = context.readOnly !== undefined || !context.writable.has(field.name);
  const put = (next: readonly unknown[], focus?: number) => {
    context.set(cell, next.length === 0 ? null : next);
    if (focus === undefined) return;
    focusSoon(() => {
      const row = list.current?.children[Math.min(focus, next.length - 1)];
      return row?.querySelector<HTMLElement>("button");
    });
  };
  const move = (from: number, to: number) => {
    if (to < 0 || to >= items.length || from === to) return;
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    put(next, to);
  };
  const order = useOrder(move, disabled);
  const toggle = (key: string) =>
    setClosed((now) => new Set(now.has(key) ? [...now].filter((one) => one !== key) : [...now, key]));
  const add = (shape: Shape) =>
    put([...items, newItem(shape, field.type === "blocks", context)], items.length);
  const insert = (copies: readonly Item[], at: number) => {
    if (copies.length > 0)
      put(items.toSpliced(at, 0, ...copies.map((copy) => ({ ...copy, _key: newItemKey() }))), at);
  };
  const paste = (text: string | undefined, at = items.length): boolean => {
    const copies = disabled ? [] : pastedItems(text, field, context);
    insert(copies, at);
    return copies.length > 0;
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: the label of the field names the group.
    <div
      class="objects-input"
      role="group"
      id={attributes.id}
      aria-label={labelOf(field)}
      onPaste={(event) => {
        if (isText(event.target)) return;
        const at = [...(list.current?.children ?? [])].findIndex((row) => row.contains(nodeOf(event)));
        const text = event.clipboardData?.getData("text/plain");
        if (!paste(text, at < 0 ? undefined : at + 1)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <ol ref={list}>
        {items.map((item, at) => (
          <ItemRow
            key={keyOf(item, at)}
            {...props}
            {...{ item, at, disabled, order, shapes }}
            count={items.length}
            isOpen={!closed.has(keyOf(item, at))}
            onToggle={() => toggle(keyOf(item, at))}
            onMove={move}
            onDuplicate={() => insert([copyOf(item, field, context)].filter(isItem), at + 1)}
            onRemove={() => put(items.toSpliced(at, 1), at)}
          />
        ))}
      </ol>
      <ListEnd
        {...{ context, field, shapes, disabled }}
        isEmpty={items.length === 0}
        onAdd={add}
        onPaste={() => paste(copiedText.value)}
      />
    </div>
  );
}

const nodeOf = ({ target }: Event) => (target instanceof Node ? target : null);

/** Returns whether an event belongs to a text input, which copies and pastes texts itself. */
const isText = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, [contenteditable]") !== null;

/** The buttons below a list. If the user cannot add items, a note that the list is empty. */
function ListEnd({
  context,
  field,
  shapes,
  disabled,
  isEmpty,
  onAdd,
  onPaste,
}: {
  context: FormContext;
  field: FieldModel;
  shapes: readonly Shape[];
  disabled: boolean;
  isEmpty: boolean;
  onAdd: (shape: Shape) => void;
  onPaste: () => void;
}) {
  const copied = copiedText.value;
  // Parse the copied items once, and not after each key.
  const isPasteable = useMemo(
    () => pastedItems(copied, field, context).length > 0,
    [copied, field, context.orb],
  );
  if (disabled) return isEmpty ? <p class="hint">{t("fields.none")}</p> : null;
  return (
    <div class="objects-add">
      <AddButton field={field} shapes={shapes} onAdd={onAdd} />
      {isPasteable ? (
        <Button
          size="small"
          icon="clipboardPaste"
          aria-label={t("fields.pasteInto", { field: labelOf(field) })}
          onClick={onPaste}
        >
          {t("fields.paste")}
        </Button>
      ) : null}
    </div>
  );
}

function AddButton({
  field,
  shapes,
  onAdd,
}: {
  field: FieldModel;
  shapes: readonly Shape[];
  onAdd: (shape: Shape) => void;
}) {
  const label = t("fields.addTo", { field: labelOf(field) });
  const [first] = shapes;
  if (field.type !== "blocks" && first !== undefined)
    return (
      <Button size="small" icon="plus" aria-label={label} onClick={() => onAdd(first)}>
        {t("fields.add")}
      </Button>
    );
  return (
    <Menu
      label={label}
      class="button plain small"
      button={
        <>
          <Icon name="plus" />
          {t("fields.add")}
        </>
      }
      items={shapes.map((shape) => ({ label: shape.label, run: () => onAdd(shape) }))}
    />
  );
}

interface RowProps extends Props {
  item: unknown;
  at: number;
  count: number;
  disabled: boolean;
  order: Order;
  shapes: readonly Shape[];
  isOpen: boolean;
  onToggle: () => void;
  onMove: (from: number, to: number) => void;
  onDuplicate: () => void;
  onRemove: () => void;
}

function ItemRow(props: RowProps) {
  const { cell, context, item, at, order, shapes, isOpen } = props;
  const id = useId();
  const object: Item = typeof item === "object" && item !== null ? (item as Item) : {};
  const shape =
    cell.field.type === "blocks" ? shapes.find(({ component }) => component === object._type) : shapes[0];
  const kind = cell.field.type === "blocks" ? (shape?.label ?? String(object._type)) : labelOf(cell.field);
  const name = t("fields.item", { field: kind, number: at + 1 });
  const way = [...cell.way, String(at)];
  const path = pointerOf({ way });
  const own = [path, `${path}/_key`, `${path}/_type`];
  const fault = context.faults.find((one) => own.includes(one.path))?.message;
  const isWrong = context.faults.some((one) => one.path === path || one.path.startsWith(`${path}/`));
  const copied = () => {
    copiedText.value = textOfItems([copyOf(item, cell.field, context)]);
    say(t("fields.copied", { item: name }));
    return copiedText.value;
  };
  return (
    <li
      class={`object-item ${isWrong ? "wrong" : ""}`}
      onCopy={(event) => {
        if (isText(event.target) || getSelection()?.isCollapsed === false) return;
        event.clipboardData?.setData("text/plain", copied());
        event.preventDefault();
        event.stopPropagation();
      }}
      {...order.item(at)}
    >
      <ItemHead
        {...props}
        id={id}
        name={name}
        text={textOf(object, shape)}
        onCopy={() => void copyText(copied())}
      />
      {fault === undefined ? null : <p class="error">{fault}</p>}
      {isOpen && shape !== undefined ? (
        // biome-ignore lint/a11y/useSemanticElements: the head names the group.
        <div class="object-input" role="group" id={id} aria-label={name}>
          <Members {...props} shape={shape} way={way} />
        </div>
      ) : null}
    </li>
  );
}

/** The row above the fields of an item: its name, and buttons to fold, move, copy and remove it. */
function ItemHead({
  id,
  name,
  text,
  at,
  count,
  disabled,
  order,
  isOpen,
  onToggle,
  onMove,
  onDuplicate,
  onRemove,
  onCopy,
}: RowProps & { id: string; name: string; text: string; onCopy: () => void }) {
  return (
    <div class="object-head" {...order.handle(at, name)}>
      <button
        type="button"
        class="object-fold"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={onToggle}
      >
        <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
        <span>{name}</span>
        <span class="hint clip" dir="auto">
          {text}
        </span>
      </button>
      {disabled ? null : (
        <div class="list-buttons">
          <IconButton
            label={t("fields.up", { item: name })}
            icon="arrowUp"
            disabled={at === 0}
            onClick={() => onMove(at, at - 1)}
          />
          <IconButton
            label={t("fields.down", { item: name })}
            icon="arrowDown"
            disabled={at === count - 1}
            onClick={() => onMove(at, at + 1)}
          />
          <IconButton label={t("fields.duplicate", { item: name })} icon="copy" onClick={onDuplicate} />
          <IconButton label={t("fields.copy", { item: name })} icon="clipboardCopy" onClick={onCopy} />
          <IconButton label={t("fields.remove", { item: name })} icon="x" onClick={onRemove} />
        </div>
      )}
    </div>
  );
}
