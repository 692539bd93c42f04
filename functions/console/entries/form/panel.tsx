/** Shows another entry in a panel beside the form. Escape closes the panel and returns the focus to the form. */
import type { RefObject } from "preact";
import { type MutableRef, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type EntryItem, readTarget } from "../../api/entries.ts";
import type { EntryTarget } from "../../fields/parts/kind.ts";
import { cellsOf, plainValue } from "../../model/cells.ts";
import { schemaOf, titleField } from "../../model/orb.ts";
import { orbLink } from "../../shell/nav.ts";
import { changeIn, keepChange } from "../../state/change.ts";
import { useLoad } from "../../state/load.ts";
import { useCaller, useOrb } from "../../state/session.ts";
import { t } from "../../texts/t.ts";
import { StateBadge } from "../../ui/badge.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Loading, Shows } from "../../ui/states.tsx";
import { WithSchema } from "../place.tsx";
import { rightsOf } from "../rights.ts";
import { EntryValues } from "../values.tsx";
import { BesideForm } from "./beside.tsx";

/** Returns whether the caller may change an entry that the panel shows. */
function useMayChange({ orb, module, schema }: EntryTarget, entry: EntryItem | undefined): boolean {
  const caller = useCaller(orb).data;
  const model = useOrb(orb).data;
  const found = schemaOf(model, module, schema);
  const inModule = model?.modules.find(({ id }) => id === module);
  if (caller === undefined || model === undefined || found === undefined || inModule === undefined)
    return false;
  const place = { orb: model, module: inModule, schema: found };
  return entry !== undefined && rightsOf(caller, place, entry).readOnly === undefined;
}

/** Moves the focus to the heading, and back when the panel closes. */
function useFocusBeside(heading: RefObject<HTMLElement>, id: string): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    heading.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [id]);
}

/** Closes the panel with Escape, unless something above it, such as a dialog, takes the key. */
function useEscape(onClose: () => void): void {
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
}

export function Panel({
  target,
  managed,
  mayClose,
  onClose,
}: {
  target: EntryTarget;
  managed: boolean;
  /** Set to what asks before unsaved changes in the panel are discarded. */
  mayClose: MutableRef<() => Promise<boolean>>;
  onClose: () => void;
}) {
  const { orb, module, schema, id } = target;
  const heading = useRef<HTMLHeadingElement>(null);
  const [editing, setEditing] = useState<string>();
  const model = useOrb(orb).data;
  const found = schemaOf(model, module, schema);
  const change = changeIn(orb);
  const place = { orb, module, schema, managed, change };
  const entry = useLoad(`orbs/${orb}/reference/${orb}/${module}/${schema}/${id}?${change ?? ""}`, (signal) =>
    readTarget(place, id, signal),
  );
  useFocusBeside(heading, id);
  useEscape(onClose);
  const mayChange = useMayChange(target, entry.data);
  const isEdited = editing === id && mayChange;
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
              {mayChange && !isEdited ? (
                <Button size="small" icon="pencil" onClick={() => setEditing(id)}>
                  {t("entry.editBeside")}
                </Button>
              ) : null}
            </p>
            {found === undefined || model === undefined ? (
              <Loading />
            ) : isEdited ? (
              <WithSchema params={{ orb, module, schema }} bare>
                {(place) => <BesideForm {...{ place, id, mayClose }} onDone={() => setEditing(undefined)} />}
              </WithSchema>
            ) : (
              <EntryValues cells={cellsOf(found, model)} content={data} />
            )}
          </>
        )}
      </Shows>
    </aside>
  );
}
