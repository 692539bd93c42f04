/** The dialog in which tags are renamed, and removed from all files. */
import { useState } from "preact/hooks";
import { changeTag, type FilesPlace } from "../api/files.ts";
import { filesKey, useTags } from "../files/library.tsx";
import { keep, refresh } from "../state/cache.ts";
import { t } from "../texts/t.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { confirm, Dialog } from "../ui/dialog.tsx";
import { Shows } from "../ui/states.tsx";
import { complain, say } from "../ui/toast.tsx";

/** Returns the name of a tag as the platform stores it. */
export const tagName = (text: string): string => text.normalize("NFC").trim();

function TagRow({ place, tag, tags }: { place: FilesPlace; tag: string; tags: readonly string[] }) {
  const [name, setName] = useState(tag);
  const [busy, setBusy] = useState(false);
  // In the stored form, so that the dialog asks before two tags become one.
  const to = tagName(name);
  const change = async (next: string | null, said: string) => {
    setBusy(true);
    try {
      keep(filesKey(place.orb, "tags"), await changeTag(place, tag, next));
      say(said);
      refresh(filesKey(place.orb));
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  const rename = async () => {
    const asked = { title: t("media.joinTagTitle", { from: tag, to }), action: t("media.joinTag") };
    const text = t("media.joinTagText", { from: tag, to });
    if (tags.includes(to) && !(await confirm({ ...asked, text, danger: true }))) return;
    await change(to, t("media.renamed", { from: tag, to }));
  };
  const remove = async () => {
    const asked = { title: t("media.removeTagTitle", { tag }), text: t("media.removeTagText") };
    if (await confirm({ ...asked, action: t("media.removeTag"), danger: true }))
      await change(null, t("media.tagRemoved", { tag }));
  };
  return (
    <li>
      <form
        class="media-tagging"
        onSubmit={(event) => {
          event.preventDefault();
          if (to !== "" && to !== tag && !busy) void rename();
        }}
      >
        <input
          aria-label={tag}
          dir="auto"
          maxLength={40}
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <Button size="small" type="submit" busy={busy} disabled={to === "" || to === tag}>
          {t("media.renameTag")}
        </Button>
        <IconButton
          label={t("media.removeTagNamed", { tag })}
          icon="trash"
          disabled={busy}
          onClick={() => void remove()}
        />
      </form>
    </li>
  );
}

export function TagsDialog({ place, onClose }: { place: FilesPlace; onClose: () => void }) {
  const loaded = useTags(place);
  return (
    <Dialog title={t("media.manageTags")} onClose={onClose}>
      <Shows of={loaded}>
        {(tags) =>
          tags.length === 0 ? (
            <p class="hint">{t("media.noTags")}</p>
          ) : (
            <ul class="media-all-tags">
              {tags.map((tag) => (
                <TagRow key={tag} {...{ place, tag, tags }} />
              ))}
            </ul>
          )
        }
      </Shows>
    </Dialog>
  );
}
