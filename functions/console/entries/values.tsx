import { Shown } from "../fields/shown.tsx";
import { type Cell, type Content, isEmpty, pointerOf, valueAt } from "../model/cells.ts";
import { cellLabel } from "./difference.tsx";

/** Shows all values that an entry has. */
export function EntryValues({ cells, content }: { cells: readonly Cell[]; content: Content }) {
  return (
    <dl class="entry-values">
      {cells
        .filter((cell) => !isEmpty(valueAt(content, cell)))
        .map((cell) => (
          <div key={pointerOf(cell)}>
            <dt>{cellLabel(cell)}</dt>
            <dd>
              <Shown field={cell.field} value={valueAt(content, cell)} language={cell.language} />
            </dd>
          </div>
        ))}
    </dl>
  );
}
