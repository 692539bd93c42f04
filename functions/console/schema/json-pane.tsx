/** Shows the document as JSON text with line numbers, and marks lines with errors. */
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Button, CopyButton } from "../ui/button.tsx";
import type { Editor } from "./document/editor.ts";
import { lineAt, offsetOf, pathAt } from "./document/json-text.ts";

/** Shows the line numbers, and marks lines with errors. */
function Numbers({ count, wrong }: { count: number; wrong: ReadonlySet<number> }) {
  const parts = [];
  let text = "";
  for (let line = 1; line <= count; line++) {
    if (wrong.has(line)) {
      parts.push(text, <mark key={line}>{line}</mark>, "\n");
      text = "";
    } else text += `${line}\n`;
  }
  return (
    <>
      {parts}
      {text}
    </>
  );
}

/** Scrolls the text to what is selected in the form, and selects in the form where the cursor is. */
function useSelection(editor: Editor, area: RefObject<HTMLTextAreaElement>, count: number) {
  const selected = editor.selected.value;
  const parsed = editor.parsed.value;
  const reveal = (offset: number) => {
    const { current } = area;
    if (current === null) return;
    const height = current.scrollHeight / count;
    const top = (lineAt(current.value, offset) - 1) * height;
    if (top < current.scrollTop || top > current.scrollTop + current.clientHeight - 2 * height)
      current.scrollTop = Math.max(0, top - current.clientHeight / 4);
  };
  useEffect(() => {
    // Do not scroll while the user is typing in the text.
    if (document.activeElement !== area.current && parsed.fault === undefined)
      reveal(selected === "" ? 0 : offsetOf(parsed, selected));
  }, [selected]);
  const follow = () => {
    const { current } = area;
    if (current === null || editor.broken.value) return;
    const path = pathAt(editor.parsed.value, current.selectionStart);
    const inner = /^(?:\/(?:modules|schemas|fields|roles|uses|hooks|schedules)\/\d+)+/.exec(path)?.[0];
    editor.select(
      inner ?? /^\/(?:access|session|branding|roles|uses|hooks|schedules)\b/.exec(path)?.[0] ?? "",
    );
  };
  return { reveal, follow };
}

/** Says why the text is not JSON. */
function JsonFault({
  fault,
  onShow,
  onDiscard,
}: {
  fault: NonNullable<Editor["parsed"]["value"]["fault"]>;
  onShow: () => void;
  onDiscard: () => void;
}) {
  return (
    <div class="json-fault" role="status">
      <p class="error" id="json-fault">
        {t("json.at", { line: fault.line, column: fault.column, reason: t(fault.reason) })}
      </p>
      <Button size="small" onClick={onShow}>
        {t("json.show")}
      </Button>
      <Button size="small" onClick={onDiscard}>
        {t("json.discard")}
      </Button>
    </div>
  );
}

export function JsonPane({ editor }: { editor: Editor }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLPreElement>(null);
  const text = editor.text.value;
  const parsed = editor.parsed.value;
  const faults = editor.shownFaults.value;
  const { fault } = parsed;
  const count = useMemo(() => lineAt(text, text.length), [text]);
  const wrong = useMemo(
    () =>
      new Set(
        fault === undefined ? faults.map(({ path }) => lineAt(text, offsetOf(parsed, path))) : [fault.line],
      ),
    [text, parsed, faults, fault],
  );
  const { reveal, follow } = useSelection(editor, area, count);
  const scrollNumbers = () => {
    if (numbers.current !== null) numbers.current.scrollTop = area.current?.scrollTop ?? 0;
  };
  // New text can change the scroll position without a scroll event, so also scroll the line numbers here.
  useEffect(scrollNumbers);
  const show = (offset: number) => {
    reveal(offset);
    area.current?.focus();
    area.current?.setSelectionRange(offset, Math.min(text.length, offset + 1));
  };
  return (
    <section class="json" aria-label={t("schema.json")}>
      <header>
        <h2>{t("schema.json")}</h2>
        <CopyButton text={text} />
      </header>
      <div class="json-box">
        <pre ref={numbers} aria-hidden="true">
          <Numbers count={count} wrong={wrong} />
        </pre>
        <textarea
          ref={area}
          class="mono"
          aria-label={t("schema.jsonOf", { orb: editor.orb })}
          aria-invalid={fault !== undefined || faults.length > 0}
          aria-describedby={fault === undefined ? undefined : "json-fault"}
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          value={text}
          onInput={({ currentTarget }) => editor.type(currentTarget.value)}
          onClick={follow}
          onKeyUp={({ key }) => {
            if (key.startsWith("Arrow") || key.startsWith("Page")) follow();
          }}
          onScroll={scrollNumbers}
        />
      </div>
      {fault === undefined ? null : (
        <JsonFault fault={fault} onShow={() => show(fault.offset)} onDiscard={() => editor.discardText()} />
      )}
    </section>
  );
}
