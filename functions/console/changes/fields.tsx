/** What a change set changes in the fields of an entry: each value before and after, with the words that differ. */
import type { EntryDiff, FieldDiff } from "../api/changes.ts";
import { Pair } from "../entries/pair.tsx";
import {
  type Cell,
  type Content,
  cellsOfField,
  differing,
  pointerOf,
  valueAt,
  windowCells,
} from "../model/cells.ts";
import { labelOf, type OrbModel, type SchemaModel } from "../model/orb.ts";
import { languageName, t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Comments, type Discussion } from "./comments.tsx";

const WINDOWS = windowCells({ validFrom: t("entry.validFrom"), validTo: t("entry.validTo") });

/** Returns the cells of a field of an entry: its values by market and language. */
export function cellsIn(name: string, schema: SchemaModel | undefined, orb: OrbModel): readonly Cell[] {
  const window = WINDOWS.filter(({ field }) => field.name === name);
  if (window.length > 0) return window;
  const field = schema?.fields.find((one) => one.name === name);
  return cellsOfField(field ?? { name, type: "json" }, orb);
}

/** Returns the content of an entry that has one value only. */
export function contentWith(name: string, value: unknown): Content {
  const content: Content = { values: { [name]: value }, validFrom: null, validTo: null };
  return name === "validFrom" || name === "validTo" ? { ...content, [name]: value } : content;
}

/** Returns the market and the language of a value. */
const variantOf = ({ market, language }: Cell): string =>
  [market, language === undefined ? undefined : languageName(language)]
    .filter((part) => part !== undefined)
    .join(" · ");

/** One value: before and after, or only after for a new entry. */
function CellChange({
  cell,
  orb,
  isNew,
  before,
  after,
}: {
  cell: Cell;
  orb: OrbModel;
  isNew: boolean;
  before: unknown;
  after: unknown;
}) {
  return (
    <Pair {...{ cell, orb, before, after }}>
      {(was, is, isMarked) => (
        <div class={isNew ? "" : `difference-row ${isMarked ? "marked" : ""}`} lang={cell.language}>
          {isNew ? null : (
            <div class="value-was">
              <span class="sr-only">{t("changes.before")}: </span>
              {was}
            </div>
          )}
          <div class="value-is">
            <span class="sr-only">{t("changes.after")}: </span>
            {is}
          </div>
        </div>
      )}
    </Pair>
  );
}

export interface FieldsProps {
  item: EntryDiff;
  /** Name of the entry. */
  name: string;
  schema: SchemaModel | undefined;
  orb: OrbModel;
  discussion: Discussion;
}

function FieldChange({ item, name, schema, orb, discussion, diff }: FieldsProps & { diff: FieldDiff }) {
  const cells = cellsIn(diff.name, schema, orb);
  const [base, proposed] = [contentWith(diff.name, diff.base), contentWith(diff.name, diff.proposed)];
  const changed = differing(cells, base, proposed);
  const label = cells[0] === undefined ? diff.name : labelOf(cells[0].field);
  const isConflicting = item.conflicts.some((path) =>
    [`/values/${diff.name}`, `/${diff.name}`].some((own) => path === own || path.startsWith(`${own}/`)),
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would group inputs, and these are values.
    <div class="change-field" role="group" aria-label={label}>
      <h4>
        <bdi>{label}</bdi>
        {isConflicting ? <Badge tone="bad">{t("changes.conflict")}</Badge> : null}
      </h4>
      {changed.length === 0 ? <p class="hint">{t("history.secrets")}</p> : null}
      {changed.map((cell) => (
        <div key={pointerOf(cell)} class="change-cell">
          {variantOf(cell) === "" ? null : <p class="hint">{variantOf(cell)}</p>}
          <CellChange
            {...{ cell, orb }}
            isNew={item.base === null}
            before={valueAt(base, cell)}
            after={valueAt(proposed, cell)}
          />
        </div>
      ))}
      <Comments
        discussion={discussion}
        about={{ entry: `${item.module}/${item.schema}/${item.id}`, field: diff.name }}
        name={`${name}, ${label}`}
      />
    </div>
  );
}

export function Fields(props: FieldsProps) {
  const { item } = props;
  if (item.fields.length === 0) return null;
  return (
    <div class="change-fields">
      {item.base === null ? null : (
        <div class="difference-head" aria-hidden="true">
          <span>{t("changes.before")}</span>
          <span>{t("changes.after")}</span>
        </div>
      )}
      {item.fields.map((diff) => (
        <FieldChange key={diff.name} {...props} diff={diff} />
      ))}
    </div>
  );
}
