import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { moveOrb, type OrbDocument, publishOrb, removeOrb } from "../api/orbs.ts";
import { titleOf } from "../model/orb.ts";
import { forget, refresh } from "../state/cache.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { complain, say } from "../ui/toast.tsx";

/** The actions that an admin can perform on a whole application. */
export function OrbActions({ orb }: { orb: OrbDocument }) {
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const { id, revision, status, publishedRevision } = orb;
  const name = titleOf(orb);
  const act = async (work: () => Promise<unknown>, done: string) => {
    setBusy(true);
    try {
      await work();
      say(done);
      refresh("orbs");
      refresh("caller/");
      refresh("palette");
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  const ask = async (move: "unpublish" | "archive") => {
    const sure = await confirm({
      title: t(`orb.${move}Title`, { orb: name }),
      text: t(`orb.${move}Text`),
      action: t(`orb.${move}`),
      danger: true,
    });
    const done = move === "archive" ? "orb.archived" : "orb.unpublished";
    if (sure) await act(() => moveOrb(id, revision, move), t(done, { orb: name }));
  };
  const erase = async () => {
    const sure = await confirm({
      title: t("orb.deleteTitle", { orb: name }),
      text: t("orb.deleteText", { orb: name }),
      action: t("orb.delete"),
      danger: true,
    });
    if (!sure) return;
    setBusy(true);
    try {
      await removeOrb(id, revision);
    } catch (error) {
      setBusy(false);
      complain(error);
      return;
    }
    say(t("orb.deleted", { orb: name }));
    // Cached lists still contain the deleted application, so reload them.
    refresh("orbs?");
    refresh("palette");
    forget(`orbs/${id}`);
    go("/");
  };
  const archived = status === "ARCHIVED";
  const items: MenuItem[] = [
    ...(status === "PUBLISHED"
      ? [{ label: t("orb.unpublish"), icon: "undo" as const, run: () => void ask("unpublish") }]
      : []),
    archived
      ? {
          label: t("orb.restore"),
          icon: "undo",
          run: () => void act(() => moveOrb(id, revision, "restore"), t("orb.restored", { orb: name })),
        }
      : { label: t("orb.archive"), icon: "archive", run: () => void ask("archive") },
    { label: t("orb.delete"), icon: "trash", danger: true, run: () => void erase() },
  ];
  const unpublished = !archived && (publishedRevision === null || publishedRevision < revision);
  return (
    <>
      {unpublished ? (
        <Button
          kind="primary"
          icon="upload"
          busy={busy}
          onClick={() => void act(() => publishOrb(id, revision), t("orb.published", { orb: name }))}
        >
          {t("orb.publish")}
        </Button>
      ) : null}
      <Menu
        label={t("orb.more")}
        class="button square"
        button={<Icon name="ellipsis" size={18} />}
        items={items}
      />
    </>
  );
}
