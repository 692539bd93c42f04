/** What can be done with the files that the user has selected, and a dialog for the tags of all files. */
import { useId, useState } from "preact/hooks";
import { isProblem } from "../../../shared/client/problem.ts";
import { deleteFile, type FilesPlace, type LibraryFile, tagFiles } from "../api/files.ts";
import { filesKey, type Selected, useTags } from "../files/library.tsx";
import { refresh } from "../state/cache.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { complain, say } from "../ui/toast.tsx";
import { TagsDialog, tagName } from "./tags.tsx";

/** Files that one request tags. */
const PER_REQUEST = 100;

interface SelectionProps {
  place: FilesPlace;
  selected: Selected;
  /** The files that the page shows. */
  shown: readonly LibraryFile[];
  onSelected: (selected: Selected) => void;
}

/** Runs an act on the selected files, and clears the selection if it succeeds. */
function useAct({ place, onSelected }: SelectionProps) {
  const [busy, setBusy] = useState(false);
  const act = async (work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
      onSelected(new Map());
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
      refresh(filesKey(place.orb));
    }
  };
  return { busy, act };
}

/** An input for a tag, with buttons that add it to the selected files or remove it from them. */
function Tagging({
  place,
  ids,
  busy,
  act,
}: { place: FilesPlace; ids: readonly string[] } & ReturnType<typeof useAct>) {
  const [tag, setTag] = useState("");
  const tags = useTags(place).data ?? [];
  const list = useId();
  const name = tagName(tag);
  const change = (how: "add" | "remove") =>
    act(async () => {
      for (let at = 0; at < ids.length; at += PER_REQUEST)
        await tagFiles(place, ids.slice(at, at + PER_REQUEST), { [how]: [name] });
      say(t("media.tagged", { count: ids.length }));
    });
  return (
    <form
      class="media-tagging"
      onSubmit={(event) => {
        event.preventDefault();
        if (name !== "" && !busy) void change("add");
      }}
    >
      <input
        aria-label={t("media.tag")}
        placeholder={t("media.tag")}
        autocomplete="off"
        list={list}
        value={tag}
        onInput={(event) => setTag(event.currentTarget.value)}
      />
      <datalist id={list}>
        {tags.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Button size="small" type="submit" busy={busy} disabled={name === ""}>
        {t("media.addTag")}
      </Button>
      <Button size="small" busy={busy} disabled={!tags.includes(name)} onClick={() => void change("remove")}>
        {t("media.removeTag")}
      </Button>
    </form>
  );
}

/** Deletes those of the files that no entry has. */
async function deleteSome(place: FilesPlace, ids: readonly string[]): Promise<void> {
  let kept = 0;
  for (const id of ids) {
    try {
      await deleteFile(place, id);
    } catch (error) {
      if (!isProblem(error) || error.code !== "file_in_use") throw error;
      kept++;
    }
  }
  say(t("media.deletedSome", { count: ids.length - kept }));
  if (kept > 0) say(t("media.keptSome", { count: kept }));
}

function Chosen({ ids, ...props }: SelectionProps & { ids: readonly string[] }) {
  const { place, selected, shown, onSelected } = props;
  const working = useAct(props);
  const isAll = shown.every(({ id }) => selected.has(id));
  const remove = async () => {
    const title = t("media.deleteSome", { count: ids.length });
    const asked = { title: `${title}?`, text: t("media.deleteSomeText"), action: title, danger: true };
    if (await confirm(asked)) await working.act(() => deleteSome(place, ids));
  };
  return (
    <div class="bulk media-bulk" role="toolbar" aria-label={t("media.selection")}>
      <strong role="status">{t("table.selected", { count: ids.length })}</strong>
      {isAll ? null : (
        <Button
          kind="quiet"
          size="small"
          onClick={() => onSelected(new Map([...selected, ...shown.map((file) => [file.id, file] as const)]))}
        >
          {t("media.selectPage")}
        </Button>
      )}
      <Tagging {...{ place, ids }} {...working} />
      <Button size="small" class="bad-text" busy={working.busy} onClick={() => void remove()}>
        {t("media.delete")}
      </Button>
      <Button kind="quiet" size="small" onClick={() => onSelected(new Map())}>
        {t("table.clearSelection")}
      </Button>
    </div>
  );
}

/** The bar of the selected files. Without any, a button for the tags of all files. */
export function Selection(props: SelectionProps) {
  const { place, selected } = props;
  const [managing, setManaging] = useState(false);
  const tags = useTags(place).data ?? [];
  if (selected.size > 0) return <Chosen {...props} ids={[...selected.keys()]} />;
  if (tags.length === 0) return null;
  return (
    <>
      <p>
        <Button size="small" onClick={() => setManaging(true)}>
          {t("media.manageTags")}
        </Button>
      </p>
      {managing ? <TagsDialog place={place} onClose={() => setManaging(false)} /> : null}
    </>
  );
}
