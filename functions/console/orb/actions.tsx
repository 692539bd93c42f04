import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { moveOrb, type OrbDocument, publishOrb, removeOrb } from "../api/orbs.ts";
import { titleOf } from "../model/orb.ts";
import { OrbContents } from "../shell/contents.tsx";
import { forget, refresh } from "../state/cache.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { complain, say } from "../ui/toast.tsx";

/** Asks before an action on the whole application. Says what the application contains. */
const confirmFor = (orb: OrbDocument, move: "unpublish" | "archive" | "delete"): Promise<boolean> => {
  const name = titleOf(orb);
  return confirm({
    title: t(`orb.${move}Title`, { orb: name }),
    text: (
      <>
        <p>{t(`orb.${move}Text`, { orb: name })}</p>
        <OrbContents orb={orb.id} />
      </>
    ),
    action: t(`orb.${move}`),
    danger: true,
    ...(move === "delete" ? { typed: orb.id } : {}),
  });
};

/** What the buttons and the menu do. */
function useMoves(orb: OrbDocument) {
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const { id, revision } = orb;
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
  return {
    busy,
    publish: () => act(() => publishOrb(id, revision), t("orb.published", { orb: name })),
    restore: () => act(() => moveOrb(id, revision, "restore"), t("orb.restored", { orb: name })),
    async close(move: "unpublish" | "archive") {
      const done = move === "archive" ? "orb.archived" : "orb.unpublished";
      if (await confirmFor(orb, move)) await act(() => moveOrb(id, revision, move), t(done, { orb: name }));
    },
    async erase() {
      if (!(await confirmFor(orb, "delete"))) return;
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
    },
  };
}

/** The actions that an admin can perform on a whole application. */
export function OrbActions({ orb }: { orb: OrbDocument }) {
  const { revision, status, publishedRevision } = orb;
  const { busy, publish, restore, close, erase } = useMoves(orb);
  const archived = status === "ARCHIVED";
  const items: MenuItem[] = [
    ...(status === "PUBLISHED"
      ? [{ label: t("orb.unpublish"), icon: "undo" as const, run: () => void close("unpublish") }]
      : []),
    archived
      ? { label: t("orb.restore"), icon: "undo", run: () => void restore() }
      : { label: t("orb.archive"), icon: "archive", run: () => void close("archive") },
    { label: t("orb.delete"), icon: "trash", danger: true, run: () => void erase() },
  ];
  const unpublished = !archived && (publishedRevision === null || publishedRevision < revision);
  return (
    <>
      {unpublished ? (
        <Button kind="primary" icon="upload" busy={busy} onClick={() => void publish()}>
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
