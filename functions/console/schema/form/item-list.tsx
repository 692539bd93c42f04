/** A list of objects, such as fields. The user can add, open, duplicate, move and remove objects. */
import type { ComponentChildren } from "preact";
import { focusSoon } from "../../state/focus.ts";
import { t } from "../../texts/t.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import { faultAt } from "../../ui/problem.tsx";
import { say } from "../../ui/toast.tsx";
import type { Editor } from "../document/editor.ts";
import {
  below,
  type JsonObject,
  listOf,
  objectOf,
  outer,
  textOf,
  valueAt,
  withItem,
  withMoved,
  withoutItem,
} from "../document/pointer.ts";
import { AttributeForm } from "./attribute-form.tsx";
import type { Kind } from "./attributes.ts";
import { FaultMark } from "./faults.tsx";

/** Focuses an element after the next render. */
export const focusFirst = (selector: string): void =>
  focusSoon(() => document.querySelector<HTMLElement>(selector));

export const rowOf = (path: string): string => `[data-row="${CSS.escape(path)}"]`;
const inputIn = (path: string): string => `[data-path="${CSS.escape(path)}"] :is(input, select, textarea)`;

/** Returns a name that no item in the list has: the wanted name, with a number appended if needed. */
export function freeName(list: readonly unknown[], wanted: string): string {
  const taken = new Set(list.flatMap((item) => [objectOf(item).id, objectOf(item).name]));
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}${number}`;
  return name;
}

interface Props {
  editor: Editor;
  /** Pointer to the list. */
  path: string;
  kind: Kind;
  /** Heading of the list, such as `Fields`. */
  title: string;
  add: string;
  empty: string;
  /** Property that identifies an item. */
  id?: "id" | "name" | "service";
  make: (items: readonly unknown[]) => JsonObject;
  /** Returns the summary to show next to an item's name. */
  about: (item: JsonObject) => ComponentChildren;
  /** Whether an item opens in its own form instead of expanding in the list. */
  opens?: boolean;
  /** Returns the content to show below the attributes of the open item. */
  more?: (path: string) => ComponentChildren;
  onAdd?: () => void;
  /** Returns further actions on an item. */
  actions?: (path: string) => readonly MenuItem[];
}

export function ItemList(props: Props) {
  const { editor, path, title, add, empty, id = "id", make, onAdd } = props;
  const items = listOf(valueAt(editor.document.value, path)).map(objectOf);
  const fault = editor.shownFaults.value.find((one) => one.path === path)?.message;
  const insert = (at: number, item: JsonObject) => {
    editor.edit(withItem(editor.document.value, path, at, item));
    editor.select(below(path, at));
    focusFirst(inputIn(below(path, at, id)));
  };
  return (
    <section class="items" aria-label={title}>
      <header>
        <h3>
          {title} {items.length === 0 ? null : <span class="count">{items.length}</span>}
        </h3>
        <Button size="small" icon="plus" onClick={onAdd ?? (() => insert(items.length, make(items)))}>
          {add}
        </Button>
      </header>
      {fault === undefined ? null : <p class="error">{fault}</p>}
      {items.length === 0 ? (
        <p class="hint none">{empty}</p>
      ) : (
        <ol>
          {items.map((item, at) => (
            <Item key={at} {...props} {...{ item, at, insert }} count={items.length} />
          ))}
        </ol>
      )}
    </section>
  );
}

/** The further actions on an item. */
function More({
  name,
  actions,
  duplicate,
  remove,
}: {
  name: string;
  actions: readonly MenuItem[];
  duplicate: () => void;
  remove: () => void;
}) {
  return (
    <Menu
      class="button quiet square"
      label={t("schema.more", { name })}
      button={<Icon name="ellipsis" />}
      items={[
        { label: t("schema.duplicate"), icon: "copy", run: duplicate },
        ...actions,
        { label: t("schema.remove"), icon: "trash", danger: true, run: remove },
      ]}
    />
  );
}

function Item({
  editor,
  path,
  kind,
  about,
  opens,
  more,
  item,
  at,
  count,
  insert,
  actions,
  id = "id",
}: Props & { item: JsonObject; at: number; count: number; insert: (at: number, item: JsonObject) => void }) {
  const own = below(path, at);
  const name = textOf(item[id]) || t("schema.unnamed");
  // The open item also shows the forms of the items inside it.
  const selected = editor.selected.value;
  const open = opens !== true && (selected === own || selected.startsWith(`${own}/fields/`));
  const move = (to: number) => {
    if (to < 0 || to >= count) return;
    editor.edit(withMoved(editor.document.value, path, at, to));
    if (open) editor.select(below(path, to));
    // Focus the moved item, so that pressing the key again moves the same item.
    document.querySelector<HTMLElement>(rowOf(below(path, to)))?.focus();
  };
  const remove = () => {
    editor.edit(withoutItem(editor.document.value, path, at));
    if (open) editor.select(outer(own));
    say(t("schema.removed", { name }), {
      label: t("schema.undo"),
      run: () => editor.edit(withItem(editor.document.value, path, at, item)),
    });
    focusFirst(rowOf(below(path, Math.min(at, count - 2))));
  };
  const duplicate = () => {
    const list = listOf(valueAt(editor.document.value, path));
    insert(at + 1, { ...item, [id]: freeName(list, textOf(item[id]) + (id === "name" ? "Copy" : "-copy")) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (event.altKey && step !== 0) {
      event.preventDefault();
      move(at + step);
    } else if (step !== 0) {
      event.preventDefault();
      document.querySelector<HTMLElement>(rowOf(below(path, at + step)))?.focus();
    } else if (event.key === "Delete") remove();
  };
  const fault = faultAt(editor.shownFaults.value, own);
  return (
    <li class={`item ${open ? "open" : ""}`}>
      <div class="item-row">
        <button
          type="button"
          class="item-name"
          data-row={own}
          {...(opens === true ? {} : { "aria-expanded": open })}
          aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown Delete"
          onKeyDown={onKeyDown}
          onClick={() => editor.select(open ? outer(own) : own)}
        >
          <Icon name={open ? "chevronDown" : "chevronRight"} />
          <span class="item-title">{name}</span>
          <span class="item-about">{about(item)}</span>
          {fault === undefined ? null : <FaultMark editor={editor} path={own} />}
        </button>
        <IconButton
          label={t("schema.moveUp", { name })}
          icon="arrowUp"
          disabled={at === 0}
          onClick={() => move(at - 1)}
        />
        <IconButton
          label={t("schema.moveDown", { name })}
          icon="arrowDown"
          disabled={at === count - 1}
          onClick={() => move(at + 1)}
        />
        <More name={name} actions={actions?.(own) ?? []} {...{ duplicate, remove }} />
      </div>
      {open ? (
        <div class="item-body">
          <AttributeForm editor={editor} kind={kind} path={own} />
          {more?.(own)}
        </div>
      ) : null}
    </li>
  );
}
