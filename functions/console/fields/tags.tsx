/**
 * The input for a list of short values: one chip for each. The user adds values in the input after the chips, one with
 * Enter, or many by pasting them.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { labelOf } from "../model/orb.ts";
import { sideStep } from "../state/arrows.ts";
import { focusSoon } from "../state/focus.ts";
import { t } from "../texts/t.ts";
import { IconButton } from "../ui/button.tsx";
import { say } from "../ui/toast.tsx";
import { kindOf } from "./index.ts";
import type { InputProps } from "./parts/kind.ts";
import { plainText } from "./parts/text-input.tsx";

const LINE_BREAK = /\r\n|\r|\n|\u2028|\u2029/;

/**
 * Splits pasted text into values: at line breaks, or else at commas. Does not split at commas if the list has a value
 * with a comma, because then a comma is part of the text.
 */
export function splitPasted(text: string, items: readonly unknown[]): string[] {
  const lines = text.split(LINE_BREAK);
  const isPart = items.some((item) => typeof item === "string" && item.includes(","));
  const parts = lines.length > 1 || isPart ? lines : text.split(",");
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** Input that cannot be parsed stays a text. The platform's validation then reports the error. */
const parsedOf = ({ field }: InputProps, text: string): unknown => {
  const parsed = kindOf(field).parse(text, field);
  return "value" in parsed ? parsed.value : text;
};

/** Returns why a value is not valid; undefined if it is. */
function faultOf({ field }: InputProps, item: unknown): string | undefined {
  if (typeof item !== "string" || field.type === "string") return undefined;
  const parsed = kindOf(field).parse(item, field);
  return "message" in parsed ? parsed.message : undefined;
}

interface ChipProps {
  item: unknown;
  fault: string | undefined;
  disabled: boolean;
  name: string;
  onChange: (text: string) => void;
  onRemove: () => void;
  onMove: (step: number) => void;
}

function Chip({ item, fault, disabled, name, onChange, onRemove, onMove }: ChipProps) {
  const text = plainText(item);
  /** The text before the user began to change it; undefined while the chip is not being changed. */
  const [before, setBefore] = useState<string>();
  const chip = useRef<HTMLLIElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const isChanging = before !== undefined;
  useLayoutEffect(() => {
    if (isChanging) input.current?.select();
  }, [isChanging]);
  const finish = () => {
    setBefore(undefined);
    if (text.trim() === "") onRemove();
    else focusSoon(() => chip.current?.querySelector("button"));
  };
  if (isChanging)
    return (
      <li class="chip" ref={chip}>
        <input
          ref={input}
          type="text"
          dir="auto"
          aria-label={name}
          size={Math.min(40, Math.max(4, text.length))}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
          onBlur={() => {
            setBefore(undefined);
            if (text.trim() === "") onRemove();
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" && event.key !== "Escape") return;
            event.preventDefault();
            event.stopPropagation();
            if (event.key === "Escape") onChange(before);
            finish();
          }}
        />
      </li>
    );
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : sideStep(event.key);
    if (step !== 0 && event.altKey) onMove(step);
    else if (event.key === "Delete" || event.key === "Backspace") onRemove();
    else return;
    event.preventDefault();
  };
  return (
    <li class={`chip ${fault === undefined ? "" : "wrong"}`} ref={chip} title={fault}>
      <button
        type="button"
        class="chip-text"
        dir="auto"
        disabled={disabled}
        aria-label={t("fields.change", { item: `${name}: ${text}` })}
        onClick={() => setBefore(text)}
        onKeyDown={onKeyDown}
      >
        {text}
      </button>
      {disabled ? null : (
        <IconButton label={t("fields.remove", { item: text })} icon="x" onClick={onRemove} />
      )}
    </li>
  );
}

/** Returns a chip, or the input if there is none. */
function chipOf(list: HTMLUListElement | null, input: string, at: number | undefined): HTMLElement | null {
  const chips = list?.querySelectorAll<HTMLElement>(".chip .chip-text");
  const found = at === undefined ? undefined : chips?.[Math.min(at, chips.length - 1)];
  return found ?? document.getElementById(input);
}

/** The items of the list, and the text in the input. */
function useItems(props: InputProps) {
  const { field, value, onChange, onFault } = props;
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  /** The text in the input. While it is not empty, it is also the last item, so that saving includes it. */
  const [text, setText] = useState("");
  const isTyping =
    text.trim() !== "" && all.length > 0 && plainText(all.at(-1)) === plainText(parsedOf(props, text));
  const items = isTyping ? all.slice(0, -1) : all;
  const tail = isTyping ? [all.at(-1)] : [];
  // The form was reset: the text is no longer part of the value.
  useLayoutEffect(() => {
    if (text.trim() !== "" && !isTyping) setText("");
  }, [value]);
  const put = (next: readonly unknown[]) => {
    onFault?.(next.map((item) => faultOf(props, item)).find((fault) => fault !== undefined));
    onChange(next.length === 0 ? null : next);
  };
  return {
    ...{ text, items, isTyping },
    /** Replaces the items before the text in the input. */
    replace: (next: readonly unknown[]) => put([...next, ...tail]),
    type(typed: string) {
      setText(typed);
      put(typed.trim() === "" ? items : [...items, parsedOf(props, typed)]);
    },
    /** Empties the input. Its text stays an item. */
    keep: () => setText(""),
    paste(event: ClipboardEvent) {
      const pasted = event.clipboardData?.getData("text/plain") ?? "";
      const parts = splitPasted(pasted, items);
      if (parts.length < 2) return;
      event.preventDefault();
      setText("");
      put([...items, ...tail, ...parts.map((part) => parsedOf(props, part))]);
      const whole = pasted.trim();
      say(
        t("fields.pasted", { count: parts.length, field: labelOf(field) }),
        LINE_BREAK.test(whole)
          ? undefined
          : { label: t("fields.keepAsOne"), run: () => put([...items, ...tail, parsedOf(props, whole)]) },
      );
    },
  };
}

export function TagsInput(props: InputProps) {
  const { field, attributes, disabled } = props;
  const list = useRef<HTMLUListElement>(null);
  const { text, items, isTyping, replace, type, keep, paste } = useItems(props);
  const focus = (at: number | undefined) => focusSoon(() => chipOf(list.current, attributes.id, at));
  const remove = (at: number) => {
    replace(items.toSpliced(at, 1));
    focus(items.length === 1 ? undefined : at);
  };
  const move = (from: number, step: number) => {
    const to = from + step;
    if (to < 0 || to >= items.length) return;
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    replace(next);
    focus(to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && isTyping) {
      event.preventDefault();
      keep();
    } else if (event.key === "Backspace" && text === "" && items.length > 0) {
      event.preventDefault();
      focus(items.length - 1);
    }
  };
  return (
    <ul class="tags-input" ref={list} aria-label={t("fields.itemsOf", { field: labelOf(field) })}>
      {items.map((item, at) => (
        <Chip
          key={at}
          item={item}
          fault={faultOf(props, item)}
          disabled={disabled === true}
          name={t("fields.item", { field: labelOf(field), number: at + 1 })}
          onChange={(changed) => replace(items.with(at, parsedOf(props, changed)))}
          onRemove={() => remove(at)}
          onMove={(step) => move(at, step)}
        />
      ))}
      {disabled === true ? (
        items.length === 0 ? (
          <li class="tag-none">{t("fields.none")}</li>
        ) : null
      ) : (
        <li class="tag-new">
          <input
            {...attributes}
            type="text"
            dir="auto"
            autocomplete="off"
            placeholder={t(items.length === 0 ? "fields.addHint" : "fields.addMore")}
            value={text}
            onInput={(event) => type(event.currentTarget.value)}
            onPaste={paste}
            onBlur={keep}
            onKeyDown={onKeyDown}
          />
        </li>
      )}
    </ul>
  );
}
