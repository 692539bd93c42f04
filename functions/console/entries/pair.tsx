/** Shows two versions of a value side by side, and marks what differs. */
import type { ComponentChildren } from "preact";
import type { Part } from "../../../shared/differences/words.ts";
import { Shown } from "../fields/shown.tsx";
import { type Cell, isEmpty, MASK } from "../model/cells.ts";
import { isObjects, type OrbModel } from "../model/orb.ts";
import { useLoad } from "../state/load.ts";

const TEXTS: readonly string[] = ["string", "text", "email", "url", "slug"];

/** Returns the text of a value whose words can be compared; undefined for other values. */
function textOf({ field }: Cell, value: unknown): string | undefined {
  if (value === MASK || isEmpty(value)) return undefined;
  if (field.type === "json") return JSON.stringify(value, null, 2);
  if (Array.isArray(value)) return undefined;
  return field.enum === undefined && TEXTS.includes(field.type) ? String(value) : undefined;
}

function Marked({ parts, as, code }: { parts: readonly Part[]; as: "del" | "ins"; code: boolean }) {
  const Mark = as;
  const Box = code ? "pre" : "span";
  return (
    <Box class={code ? "mono" : "shown-text"} dir={code ? "ltr" : "auto"}>
      {parts.map(({ text, changed }, at) => (changed ? <Mark key={at}>{text}</Mark> : text))}
    </Box>
  );
}

/** Renders the older and the newer version. `isMarked` says whether the words that differ are marked. */
export function Pair({
  cell,
  orb,
  before,
  after,
  children,
}: {
  cell: Cell;
  orb: OrbModel;
  before: unknown;
  after: unknown;
  children: (was: ComponentChildren, is: ComponentChildren, isMarked: boolean) => ComponentChildren;
}) {
  const [old, now] = [textOf(cell, before), textOf(cell, after)];
  const comparable = old !== undefined && now !== undefined;
  const isNested = isObjects(cell.field) || cell.field.type === "richText";
  // The browser loads the comparison only when there is something to compare.
  const { data } = useLoad(
    comparable ? "code/words" : null,
    () => import("../../../shared/differences/words.ts"),
  );
  const nested = useLoad(isNested ? "code/nested" : null, () => import("./nested-pair.tsx"));
  if (nested.data !== undefined) {
    const { was, is } = nested.data.nestedSides({ field: cell.field, orb, before, after });
    return <>{children(was, is, true)}</>;
  }
  if (!comparable || data === undefined)
    return (
      <>
        {children(
          <Shown field={cell.field} value={before} language={cell.language} />,
          <Shown field={cell.field} value={after} language={cell.language} />,
          false,
        )}
      </>
    );
  const parts = data.compareWords(old, now);
  const code = cell.field.type === "json";
  return (
    <>
      {children(
        <Marked parts={parts.before} as="del" code={code} />,
        <Marked parts={parts.after} as="ins" code={code} />,
        true,
      )}
    </>
  );
}
