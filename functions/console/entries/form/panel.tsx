/** Shows another entry in a panel beside the form. Escape closes the panel and returns the focus to the form. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { readTarget } from "../../api/entries.ts";
import type { EntryTarget } from "../../fields/parts/kind.ts";
import { Shown } from "../../fields/shown.tsx";
import { cellsOf, isEmpty, plainValue, pointerOf, valueAt } from "../../model/cells.ts";
import { schemaOf, titleField } from "../../model/orb.ts";
import { orbLink } from "../../shell/nav.ts";
import { changeIn, keepChange } from "../../state/change.ts";
import { useLoad } from "../../state/load.ts";
import { useOrb } from "../../state/session.ts";
import { t } from "../../texts/t.ts";
import { StateBadge } from "../../ui/badge.tsx";
import { IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Loading, Shows } from "../../ui/states.tsx";
import { cellLabel } from "../difference.tsx";

export function Panel({
  target: { orb, module, schema, id },
  managed,
  onClose,
}: {
  target: EntryTarget;
  managed: boolean;
  onClose: () => void;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const model = useOrb(orb).data;
  const found = schemaOf(model, module, schema);
  const change = changeIn(orb);
  const place = { orb, module, schema, managed, change };
  const entry = useLoad(`orbs/${orb}/reference/${orb}/${module}/${schema}/${id}?${change ?? ""}`, (signal) =>
    readTarget(place, id, signal),
  );
  useLayoutEffect(() => {
    const before = document.activeElement;
    heading.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [id]);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]") !== null)
        return;
      event.preventDefault();
      onClose();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [onClose]);
  const named = found === undefined ? undefined : titleField(found);
  const title =
    (named !== undefined && entry.data !== undefined && plainValue(entry.data.values[named.name])) || id;
  return (
    <aside class="beside" aria-label={t("entry.beside")}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <IconButton label={t("ui.close")} icon="x" onClick={onClose} />
      </header>
      <Shows of={entry}>
        {(data) => (
          <>
            <p class="beside-state">
              <StateBadge of={data} />
              <a
                href={keepChange(`/console${orbLink(orb, "entries", module, schema, id)}`)}
                target="_blank"
                rel="noreferrer"
              >
                {t("entry.openTab")} <Icon name="externalLink" size={14} />
              </a>
            </p>
            {found === undefined || model === undefined ? (
              <Loading />
            ) : (
              <dl class="entry-values">
                {cellsOf(found, model)
                  .filter((cell) => !isEmpty(valueAt(data, cell)))
                  .map((cell) => (
                    <div key={pointerOf(cell)}>
                      <dt>{cellLabel(cell)}</dt>
                      <dd>
                        <Shown field={cell.field} value={valueAt(data, cell)} language={cell.language} />
                      </dd>
                    </div>
                  ))}
              </dl>
            )}
          </>
        )}
      </Shows>
    </aside>
  );
}
