/** For a filter on a reference field: lets the user find entries by part of their name, and choose some. */
import { useEffect, useState } from "preact/hooks";
import { type EntryItem, listEntries } from "../../../api/entries.ts";
import { type FieldModel, type OrbModel, refsOf, titleOf } from "../../../model/orb.ts";
import { useLoad } from "../../../state/load.ts";
import { t, withCommas } from "../../../texts/t.ts";
import { IconButton } from "../../../ui/button.tsx";
import { Field } from "../../../ui/form.tsx";
import { wordsOf } from "../../../ui/problem.tsx";
import { findTargets, nameOf, targetsOf } from "../data/names.ts";
import { joinValues, splitValues } from "../data/view.ts";

const ANY = { locale: undefined, market: undefined };

interface Reference {
  field: FieldModel;
  orb: OrbModel;
  managed: boolean;
}

/** Shows the names of entries. Shows their ids until the names are loaded. */
export function TargetName({ field, orb, managed, ids }: Reference & { ids: readonly string[] }) {
  const targets = targetsOf(field, orb, managed);
  const key = `table/names/${refsOf(field).join()}/${ids.join()}`;
  const { data } = useLoad(targets.length === 0 || ids.length === 0 ? null : key, async (signal) => {
    const query = new URLSearchParams({ "filter[id][in]": ids.slice(0, 20).join(","), limit: "20" });
    const pages = await Promise.all(
      targets.map(async ({ place, schema }) =>
        (await listEntries(place, { query, signal })).items.map(
          (item) => [item.id, nameOf(item, schema, orb, ANY)] as const,
        ),
      ),
    );
    return pages.flat();
  });
  const found = new Map(data);
  return <>{withCommas(ids.map((id) => found.get(id) ?? id))}</>;
}

/** The search starts when the user has typed nothing for this many milliseconds. */
const PAUSE = 200;

export function ReferencePick({
  field,
  orb,
  managed,
  value,
  several,
  onChange,
}: Reference & { value: string; several: boolean; onChange: (value: string) => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly EntryItem[]>([]);
  const [fault, setFault] = useState<string>();
  const targets = targetsOf(field, orb, managed);
  const [kind, setKind] = useState(0);
  const target = targets[kind];
  useEffect(() => {
    if (target === undefined) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        findTargets(target, text.trim(), abort.signal).then(
          (items) => {
            setFound(items);
            setFault(undefined);
          },
          (error: unknown) => {
            if (!abort.signal.aborted) setFault(wordsOf(error));
          },
        ),
      text === "" ? 0 : PAUSE,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, kind]);
  const chosen = splitValues(value);
  const choose = (id: string) =>
    onChange(
      chosen.includes(id)
        ? joinValues(chosen.filter((one) => one !== id))
        : joinValues(several ? [...chosen, id] : [id]),
    );
  return (
    <div class="pick">
      {chosen.length === 0 ? null : (
        <ul class="chips">
          {chosen.map((id) => (
            <li key={id} class="chip">
              <span class="chip-text">
                <TargetName {...{ field, orb, managed }} ids={[id]} />
              </span>
              <IconButton label={t("table.removeValue")} icon="x" onClick={() => choose(id)} />
            </li>
          ))}
        </ul>
      )}
      {targets.length < 2 ? null : (
        <Field label={t("table.kind")}>
          {(attributes) => (
            <select
              {...attributes}
              value={kind}
              onChange={({ currentTarget }) => setKind(Number(currentTarget.value))}
            >
              {targets.map(({ place, schema }, at) => (
                <option key={place.schema} value={at}>
                  {schema === undefined ? place.schema : titleOf(schema)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field label={t("table.findEntry")} error={fault}>
        {(attributes) => (
          <input
            {...attributes}
            type="text"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      <ul class="pick-list" aria-label={t("table.found")}>
        {found.map((item) => (
          <li key={item.id}>
            <button type="button" aria-pressed={chosen.includes(item.id)} onClick={() => choose(item.id)}>
              {nameOf(item, target?.schema, orb, ANY)}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
