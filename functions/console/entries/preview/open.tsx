/** Opens and closes the preview of an entry on its site. The browser loads the preview with the first one. */
import { useEffect, useState } from "preact/hooks";
import type { EntryItem } from "../../api/entries.ts";
import type { OrbModel } from "../../model/orb.ts";
import { useCommands } from "../../state/commands.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { complain } from "../../ui/toast.tsx";
import type { EntryForm, View } from "../form/state/form.ts";
import type { Place } from "../place.tsx";

type Pane = typeof import("./pane.tsx");

export interface PreviewState {
  isOpen: boolean;
  toggle: () => void;
}

/** Returns the state of the preview; undefined if the entry has no page, or if the caller may not read its drafts. */
export function usePreview(
  { rights }: EntryForm,
  { schema, entry }: Pick<Place, "schema"> & { entry: EntryItem | undefined },
): PreviewState | undefined {
  const [isOpen, setOpen] = useState(false);
  const isPossible = entry !== undefined && schema.preview !== undefined && rights.history;
  useCommands(() => {
    if (!isPossible) return [];
    const run = () => setOpen((now) => !now);
    return [{ id: "entry.preview", title: t("preview.toggle"), group: t("entry.entry"), run }];
  }, [isPossible]);
  return isPossible ? { isOpen, toggle: () => setOpen((now) => !now) } : undefined;
}

export function PreviewButton({ of }: { of: PreviewState }) {
  return (
    <Button icon="eye" aria-pressed={of.isOpen} onClick={of.toggle}>
      {t("preview.toggle")}
    </Button>
  );
}

let loaded: Pane | undefined;

export function Preview({
  of,
  form: { place, fields, draft },
  orb,
  entry,
  view: { language, market },
}: {
  of: PreviewState | undefined;
  form: EntryForm;
  orb: OrbModel;
  entry: EntryItem | undefined;
  view: View;
}) {
  const [module, setModule] = useState(loaded);
  const isOpen = of?.isOpen === true;
  useEffect(() => {
    if (!isOpen || module !== undefined) return;
    import("./pane.tsx").then(
      (found) => {
        loaded = found;
        setModule(found);
      },
      (error: unknown) => {
        of.toggle();
        complain(error);
      },
    );
  }, [isOpen, module]);
  if (!isOpen || module === undefined || entry === undefined) return null;
  return (
    <module.default
      {...{ place, orb, fields, language, market }}
      entry={entry.id}
      stored={draft.base.content}
      content={draft.content}
      revision={draft.base.revision}
      onClose={of.toggle}
    />
  );
}
