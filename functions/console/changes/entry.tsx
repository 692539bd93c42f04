/** An entry in a change set: what the set does with it, its fields, its conflicts, and the comments on it. */
import { useState } from "preact/hooks";
import { type ChangeAct, type ChangesPlace, type EntryDiff, takeOut } from "../api/changes.ts";
import { useTargetName } from "../fields/parts/target.tsx";
import { plainValue } from "../model/cells.ts";
import { type OrbModel, type SchemaModel, schemaOf, titleField, titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { t } from "../texts/t.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { Time } from "../ui/time.tsx";
import { complain, say } from "../ui/toast.tsx";
import { Comments, type Discussion } from "./comments.tsx";
import { Conflicts } from "./conflicts.tsx";
import { Fields } from "./fields.tsx";
import { Author } from "./parts.tsx";
import { refreshSets } from "./place.ts";

const TONES: Readonly<Record<ChangeAct, Tone>> = {
  publish: "info",
  unpublish: "warning",
  archive: "warning",
  restore: "info",
  delete: "bad",
};

/** Id of the heading of an entry. */
export const headingOf = (id: string): string => `change-entry-${id}`;

/** Returns the name of an entry: the title that the set gives it, or the one that it has. */
export function useEntryName(orb: OrbModel, item: EntryDiff): string {
  const schema = schemaOf(orb, item.module, item.schema);
  const title = schema === undefined ? undefined : titleField(schema);
  const diff = item.fields.find(({ name }) => name === title?.name);
  const proposed = plainValue(diff?.proposed ?? diff?.base);
  const { name } = useTargetName(
    proposed === "" ? `${orb.id}/${item.module}/${item.schema}` : undefined,
    proposed === "" ? item.id : "",
  );
  return proposed === "" ? name : proposed;
}

export function ActBadge({ item: { act, base } }: { item: EntryDiff }) {
  if (act === "publish" && base === null) return <Badge tone="good">{t("changes.act-new")}</Badge>;
  return <Badge tone={TONES[act]}>{t(`changes.act-${act}`)}</Badge>;
}

/** Takes the entry out of the set, after a question. */
function TakeOut({
  place,
  set,
  item,
  name,
}: {
  place: ChangesPlace;
  set: string;
  item: EntryDiff;
  name: string;
}) {
  const [busy, setBusy] = useState(false);
  const run = async () => {
    const sure = await confirm({
      title: t("changes.takeOutTitle", { name }),
      text: t(item.base === null ? "changes.takeOutNew" : "changes.takeOutText"),
      action: t("changes.takeOut"),
      danger: true,
    });
    if (!sure) return;
    setBusy(true);
    try {
      await takeOut(place, set, item.id);
      say(t("changes.takenOut", { name }));
    } catch (error) {
      complain(error);
    } finally {
      refreshSets(place.orb);
      setBusy(false);
    }
  };
  return (
    <Button
      kind="quiet"
      size="small"
      icon="x"
      busy={busy}
      aria-label={t("changes.takeOutNamed", { name })}
      onClick={() => void run()}
    >
      {t("changes.takeOut")}
    </Button>
  );
}

export interface EntryProps {
  place: ChangesPlace;
  orb: OrbModel;
  item: EntryDiff;
  discussion: Discussion;
  /** Whether the caller may still change the content of the set. */
  mayWrite: boolean;
}

export function Entry({ place, orb, item, discussion, mayWrite }: EntryProps) {
  const schema: SchemaModel | undefined = schemaOf(orb, item.module, item.schema);
  const name = useEntryName(orb, item);
  const id = headingOf(item.id);
  const { set } = discussion;
  return (
    <article
      class={`card change-entry ${item.conflicts.length === 0 ? "" : "has-conflict"}`}
      aria-labelledby={id}
    >
      <header>
        <h3 id={id} tabIndex={-1} dir="auto">
          {name}
        </h3>
        <ActBadge item={item} />
        {item.conflicts.length === 0 ? null : <Badge tone="bad">{t("changes.conflict")}</Badge>}
        <p class="hint">
          {schema === undefined ? item.schema : titleOf(schema)} ·{" "}
          <Author orb={orb.id} by={item.changedBy} through={item.through} /> · <Time at={item.changedAt} />
        </p>
      </header>
      <Conflicts {...{ place, set, item, schema, orb, mayWrite }} />
      <Fields {...{ item, name, schema, orb, discussion }} />
      <footer>
        <Comments
          discussion={discussion}
          about={{ entry: `${item.module}/${item.schema}/${item.id}` }}
          name={name}
        />
        {mayWrite && item.act !== "delete" ? (
          <Link
            to={`${orbLink(orb.id, "entries", item.module, item.schema, item.id)}?change=${encodeURIComponent(set)}`}
            class="button quiet small"
          >
            <Icon name="pencil" />
            {t("changes.editEntry")}
            <span class="sr-only">: {name}</span>
          </Link>
        ) : null}
        {mayWrite ? <TakeOut {...{ place, set, item, name }} /> : null}
      </footer>
    </article>
  );
}
