/** Shows validation errors of the document: as markers, and as a list of all errors. */
import { focusSoon } from "../../state/focus.ts";
import { t } from "../../texts/t.ts";
import { Icon } from "../../ui/icon.tsx";
import type { Editor } from "../document/editor.ts";
import { lineAt, offsetOf } from "../document/json-text.ts";
import { isObject, type Json, objectOf, segmentsOf, textOf, valueAt } from "../document/pointer.ts";

/** Marks a form element if there are validation errors at its path or below. */
export function FaultMark({ editor, path, own }: { editor: Editor; path: string; own?: boolean }) {
  const count = editor.shownFaults.value.filter(
    (one) => one.path === path || (own !== true && one.path.startsWith(`${path}/`)),
  ).length;
  return count === 0 ? null : (
    <span class="fault-mark">
      <Icon name="circleAlert" />
      <span class="sr-only">{t("schema.faults", { count })}</span>
    </span>
  );
}

/** Returns a readable form of a path, with names instead of indexes. */
export function wayOf(document: Json, path: string): string {
  let at: Json | undefined = document;
  const words: string[] = [];
  let inner = "";
  for (const key of segmentsOf(path)) {
    inner = `${inner}/${key}`;
    at = valueAt(document, inner);
    if (/^\d+$/.test(key)) {
      const item = isObject(at) ? objectOf(at) : {};
      const name = textOf(item.service) || textOf(item.id) || textOf(item.name);
      words.push(name === "" ? String(Number(key) + 1) : name);
    } else if (!["modules", "schemas", "fields"].includes(key)) words.push(key);
  }
  return words.join(" › ");
}

/** Opens the form for a JSON Pointer into the document, and focuses its input. */
export function goTo(editor: Editor, path: string): void {
  const inner = path.replace(/^((?:\/(?:modules|schemas|fields|roles|uses|hooks|schedules)\/\d+)*).*$/, "$1");
  editor.select(inner === "" ? path.replace(/^(\/[^/]+).*$/, "$1") : inner);
  focusSoon(() => {
    const rows = [...document.querySelectorAll<HTMLElement>("[data-path]")].filter(({ dataset }) => {
      const place = dataset.path ?? "-";
      return path === place || path.startsWith(`${place}/`);
    });
    const row = rows.at(-1);
    const input = row?.querySelector<HTMLElement>("input, select, textarea");
    row?.scrollIntoView({ block: "nearest" });
    return input;
  });
}

/** Lists all validation errors, each with a link to its input. */
export function FaultList({ editor }: { editor: Editor }) {
  const faults = editor.shownFaults.value;
  if (faults.length === 0) return null;
  const text = editor.text.value;
  return (
    <details class="schema-faults" open={faults.length <= 3}>
      <summary>
        <Icon name="circleAlert" />
        {t("schema.faults", { count: faults.length })}
      </summary>
      <ul>
        {faults.slice(0, 50).map((fault) => (
          <li key={`${fault.path} ${fault.code} ${fault.message}`}>
            <button type="button" onClick={() => goTo(editor, fault.path)}>
              <strong>{wayOf(editor.document.value, fault.path) || t("schema.document")}</strong>{" "}
              {fault.message}
              <span class="hint">
                {" "}
                {t("schema.line", { line: lineAt(text, offsetOf(editor.parsed.value, fault.path)) })}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
