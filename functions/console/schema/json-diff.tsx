import { useMemo } from "preact/hooks";
import { t } from "../texts/t.ts";
import { diffLines } from "./document/lines.ts";

const SIGNS = { same: " ", added: "+", removed: "−", gap: "⋯" } as const;

/** Shows the difference between two documents, line by line. */
export function JsonDiff({ from, to, label }: { from: string; to: string; label: string }) {
  const lines = useMemo(() => diffLines(from, to), [from, to]);
  if (from === to) return <p class="hint">{t("change.nothing")}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the text.
    <section class="json-diff" aria-label={label} tabIndex={0}>
      <table>
        <tbody>
          {lines.map(({ kind, text, at: [old, now] }, at) => (
            <tr key={at} class={kind}>
              <td class="line">{old}</td>
              <td class="line">{now}</td>
              <td class="sign">
                {SIGNS[kind]}
                {kind === "added" || kind === "removed" ? (
                  <span class="sr-only">{t(`change.line_${kind}`)}</span>
                ) : null}
              </td>
              <td class="text">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
