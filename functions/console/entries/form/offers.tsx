/** Unsaved changes that another window, an earlier one or another device has kept on the server. */
import { useState } from "preact/hooks";
import { differing } from "../../model/cells.ts";
import type { OrbModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/time.tsx";
import { Difference } from "../difference.tsx";
import { Notice } from "./notice.tsx";
import type { EntryForm } from "./state/form.ts";
import type { Offer } from "./state/unsaved.ts";

/** Maximum offers that a form shows. The others follow when these are gone. */
const MOST = 3;

function One({ offer, form, orb, isOld }: { offer: Offer; form: EntryForm; orb: OrbModel; isOld: boolean }) {
  const [open, setOpen] = useState(false);
  const { draft, cells, isChanged } = form;
  const { kept, content } = offer;
  const count = differing(cells, draft.content, content).length;
  return (
    <Notice icon={isChanged ? "triangleAlert" : "info"}>
      <p>
        {t("editing.offer", { count })} <Time at={kept.savedAt} />
        {isOld ? ` ${t("editing.older")}` : ""}
        {kept.left.length > 0 ? ` ${t("editing.leftOut")}` : ""}
        {isChanged ? ` ${t("editing.replaces")}` : ""}
      </p>
      <div class="entry-buttons">
        <Button size="small" onClick={offer.take}>
          {t("editing.continue")}
        </Button>
        <Button size="small" onClick={() => setOpen(true)}>
          {t("editing.compare")}
        </Button>
        <Button size="small" onClick={offer.drop}>
          {t("editing.discard")}
        </Button>
      </div>
      {open ? (
        <Dialog wide title={t("editing.compareTitle")} onClose={() => setOpen(false)}>
          <Difference
            {...{ cells, orb }}
            before={{ title: t("editing.thisForm"), content: draft.content }}
            after={{ title: t("editing.keptTitle"), content }}
          />
        </Dialog>
      ) : null}
    </Notice>
  );
}

export function Offers({ form, orb, revision }: { form: EntryForm; orb: OrbModel; revision: number }) {
  const newestFirst = [...form.unsaved.offers].sort((a, b) => b.kept.savedAt.localeCompare(a.kept.savedAt));
  return (
    <>
      {newestFirst.slice(0, MOST).map((offer) => (
        <One
          key={`${offer.kept.entry} ${offer.kept.version}`}
          {...{ offer, form, orb }}
          isOld={offer.kept.revision < revision}
        />
      ))}
    </>
  );
}

/** Says whether the server keeps the unsaved changes, and which values it does not. */
export function Kept({ form: { unsaved, waiting } }: { form: EntryForm }) {
  const { standing, left } = unsaved;
  const words = [
    ...(standing === "none" ? [] : [t(`editing.${standing}`)]),
    ...(left.length === 0 ? [] : [t("editing.secrets", { names: left.join(", ") })]),
    ...(waiting.isUploading() ? [t("editing.uploads")] : []),
  ];
  return words.length === 0 ? null : <p class="hint entry-kept">{words.join(" ")}</p>;
}
