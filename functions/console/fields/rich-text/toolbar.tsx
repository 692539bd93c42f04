/** The toolbar of the editor. Tab reaches one of its buttons, and the arrow keys move between them. */
import bold from "lucide:bold";
import code from "lucide:code";
import highlighter from "lucide:highlighter";
import italic from "lucide:italic";
import linkIcon from "lucide:link";
import list from "lucide:list";
import outdentIcon from "lucide:list-indent-decrease";
import indentIcon from "lucide:list-indent-increase";
import listOrdered from "lucide:list-ordered";
import redoIcon from "lucide:redo-2";
import strikethrough from "lucide:strikethrough";
import subscript from "lucide:subscript";
import superscript from "lucide:superscript";
import underline from "lucide:underline";
import undoIcon from "lucide:undo-2";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { redo, redoDepth, undo, undoDepth } from "prosemirror-history";
import type { Command, EditorState } from "prosemirror-state";
import type { Shape } from "../../model/orb.ts";
import { shownKey } from "../../state/commands.ts";
import { type TextKey, t } from "../../texts/t.ts";
import { Drawing, Icon, type IconNodes } from "../../ui/icon.tsx";
import { Menu } from "../../ui/menu.tsx";
import {
  hasMark,
  indent,
  linkAt,
  outdent,
  selectedBlocks,
  setStyle,
  toggle,
  toggleList,
} from "./commands.ts";
import type { BlockAttrs, Formats } from "./schema.ts";

/** Names of the formats that are common. All other formats are shown as the definition calls them. */
const STYLES: Readonly<Record<string, TextKey>> = {
  normal: "rich.normal",
  blockquote: "rich.quote",
  code: "rich.codeBlock",
};

const MARKS: Readonly<Record<string, TextKey>> = {
  strong: "rich.strong",
  em: "rich.em",
  underline: "rich.underline",
  "strike-through": "rich.strike",
  code: "rich.code",
  sub: "rich.sub",
  sup: "rich.sup",
  highlight: "rich.highlight",
};

const LISTS: Readonly<Record<string, TextKey>> = { bullet: "rich.bullet", number: "rich.number" };

const nameIn = (names: Readonly<Record<string, TextKey>>, name: string): string => {
  const key = Object.hasOwn(names, name) ? names[name] : undefined;
  return key === undefined ? name : t(key);
};

const nameOfMark = (mark: string): string => nameIn(MARKS, mark);
const nameOfList = (list: string): string => nameIn(LISTS, list);
function nameOfStyle(style: string): string {
  const level = /^h([1-6])$/.exec(style)?.[1];
  return level === undefined ? nameIn(STYLES, style) : t("rich.heading", { level: Number(level) });
}

const MARK_ICONS: Readonly<Record<string, IconNodes>> = {
  ...{ strong: bold, em: italic, underline, "strike-through": strikethrough, code },
  ...{ sub: subscript, sup: superscript, highlight: highlighter },
};
const MARK_KEYS: Readonly<Record<string, string>> = {
  ...{ strong: "mod+b", em: "mod+i", underline: "mod+u", code: "mod+e" },
};
const LIST_ICONS: Readonly<Record<string, IconNodes>> = { bullet: list, number: listOrdered };

interface ToolProps {
  label: string;
  keys?: string | undefined;
  icon?: IconNodes | undefined;
  pressed?: boolean;
  off?: boolean;
  run: () => void;
  /** Returns the focus to the text. */
  back: () => void;
}

function Tool({ label, keys, icon, pressed, off, run, back }: ToolProps) {
  return (
    <button
      type="button"
      class={`button quiet ${icon === undefined ? "small" : "square"}`}
      aria-label={label}
      title={keys === undefined ? label : `${label} (${shownKey(keys)})`}
      aria-pressed={pressed}
      aria-disabled={off === true ? "true" : undefined}
      // The text keeps the focus and the selection.
      onMouseDown={(event) => event.preventDefault()}
      onClick={({ detail }) => {
        if (off !== true) run();
        // A pointer was used, not the keyboard.
        if (detail > 0) back();
      }}
    >
      {icon === undefined ? label : <Drawing nodes={icon} />}
    </button>
  );
}

function StyleSelect({
  state,
  formats,
  run,
  back,
}: {
  state: EditorState;
  formats: Formats;
  run: Run;
  back: () => void;
}) {
  const pointed = useRef(false);
  const styles = new Set(selectedBlocks(state).map(({ node }) => (node.attrs as BlockAttrs).style));
  const [style] = styles.size === 1 ? styles : [];
  const options =
    style === undefined || formats.styles.includes(style) ? formats.styles : [...formats.styles, style];
  return (
    <select
      aria-label={t("rich.style")}
      value={style ?? ""}
      onPointerDown={() => {
        pointed.current = true;
      }}
      onKeyDown={() => {
        pointed.current = false;
      }}
      onChange={({ currentTarget }) => {
        run(setStyle(currentTarget.value));
        if (pointed.current) back();
      }}
    >
      {style === undefined ? <option value="">{t("rich.mixed")}</option> : null}
      {options.map((one) => (
        <option key={one} value={one}>
          {nameOfStyle(one)}
        </option>
      ))}
    </select>
  );
}

type Run = (command: Command) => void;

const TOOLS = ":is(select, button):not([role^=menuitem])";

/** Lets one tool have the focus at a time. */
function useRoving() {
  const root = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const tools = () => [...(root.current?.querySelectorAll<HTMLElement>(TOOLS) ?? [])];
  useLayoutEffect(() => {
    const all = tools();
    for (const [index, tool] of all.entries())
      tool.tabIndex = index === Math.min(at, all.length - 1) ? 0 : -1;
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const all = tools();
    const now = all.indexOf(event.target as HTMLElement);
    if (now < 0) return;
    const isBackwards = root.current !== null && getComputedStyle(root.current).direction === "rtl";
    const step = isBackwards ? -1 : 1;
    const places: Readonly<Record<string, number>> = {
      ArrowRight: now + step,
      ArrowLeft: now - step,
      Home: 0,
      End: all.length - 1,
    };
    const next = places[event.key];
    if (next === undefined) return;
    event.preventDefault();
    all.at(next % all.length)?.focus();
  };
  const onFocusIn = ({ target }: FocusEvent) => {
    const index = tools().indexOf(target as HTMLElement);
    if (index >= 0) setAt(index);
  };
  return { root, onKeyDown, onFocusIn };
}

interface Props {
  state: EditorState;
  formats: Formats;
  run: Run;
  /** Returns the focus to the text. */
  back: () => void;
  label: string;
  /** Id of the text. */
  controls: string;
  shapes: readonly Shape[];
  onLink: () => void;
  onInsert: (shape: Shape) => void;
}

const iconIn = (icons: Readonly<Record<string, IconNodes>>, name: string) =>
  Object.hasOwn(icons, name) ? icons[name] : undefined;

function MarkTools({ state, formats, run, back }: Props) {
  return (
    <>
      {formats.marks.map((mark) => (
        <Tool
          key={mark}
          label={nameOfMark(mark)}
          keys={Object.hasOwn(MARK_KEYS, mark) ? MARK_KEYS[mark] : undefined}
          icon={iconIn(MARK_ICONS, mark)}
          pressed={hasMark(state, mark)}
          run={() => run(toggle(mark))}
          back={back}
        />
      ))}
    </>
  );
}

function ListTools({ state, formats: { lists }, run, back }: Props) {
  const blocks = selectedBlocks(state);
  const isList = (name: string) => blocks.length > 0 && blocks.every(({ node }) => node.attrs.list === name);
  const isItem = blocks.some(({ node }) => node.attrs.list !== null);
  const level = (label: string, icon: IconNodes, command: Command) => (
    <Tool {...{ label, icon, back }} off={!isItem} run={() => run(command)} />
  );
  if (lists.length === 0) return null;
  return (
    <>
      {lists.map((name) => (
        <Tool
          key={name}
          label={nameOfList(name)}
          icon={iconIn(LIST_ICONS, name)}
          pressed={isList(name)}
          run={() => run(toggleList(name))}
          back={back}
        />
      ))}
      {level(t("rich.outdent"), outdentIcon, outdent)}
      {level(t("rich.indent"), indentIcon, indent)}
    </>
  );
}

export function Toolbar(props: Props) {
  const { state, formats, label, controls, shapes, run, back, onLink, onInsert } = props;
  const { root, onKeyDown, onFocusIn } = useRoving();
  return (
    <div
      class="rich-tools"
      role="toolbar"
      aria-label={label}
      aria-controls={controls}
      ref={root}
      onFocusIn={onFocusIn}
      onKeyDown={(event) => {
        if (event.key === "Escape") back();
        else onKeyDown(event);
      }}
    >
      {formats.styles.length < 2 ? null : <StyleSelect {...{ state, formats, run, back }} />}
      <MarkTools {...props} />
      <ListTools {...props} />
      <Tool
        label={t("rich.link")}
        keys="mod+k"
        icon={linkIcon}
        pressed={linkAt(state) !== undefined}
        run={onLink}
        back={() => undefined}
      />
      {shapes.length === 0 ? null : (
        <Menu
          class="button quiet small"
          label={t("rich.insert")}
          button={
            <>
              <Icon name="plus" /> {t("rich.insertShort")}
            </>
          }
          items={shapes.map((shape) => ({ label: shape.label, run: () => onInsert(shape) }))}
        />
      )}
      <Tool
        label={t("rich.undo")}
        keys="mod+z"
        icon={undoIcon}
        off={undoDepth(state) === 0}
        run={() => run(undo)}
        back={back}
      />
      <Tool
        label={t("rich.redo")}
        icon={redoIcon}
        off={redoDepth(state) === 0}
        run={() => run(redo)}
        back={back}
      />
    </div>
  );
}
