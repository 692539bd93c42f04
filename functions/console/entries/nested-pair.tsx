/** Shows what differs between two versions of objects, blocks or rich text: item by item, and word by word. */
import type { ComponentChildren } from "preact";
import { type Change, changesIn, plainText } from "../../../shared/differences/changes.ts";
import type { FieldModel, OrbModel } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { placeName } from "./nested-names.ts";

interface NestedProps {
  field: FieldModel;
  orb: OrbModel;
  before: unknown;
  after: unknown;
}

/** Texts of one side: words that the other version lacks are marked. */
function Words({ change, own }: { change: Change; own: "remove" | "add" }) {
  const Mark = own === "remove" ? "del" : "ins";
  const { words, before, after } = change;
  const parts = words ?? [{ op: own, text: plainText(own === "remove" ? before : after) }];
  return (
    <span class="shown-text" dir="auto">
      {parts.map(({ op, text }, at) =>
        op === "keep" ? text : op === own ? <Mark key={at}>{text}</Mark> : null,
      )}
    </span>
  );
}

const isShown = ({ kind }: Change, own: "remove" | "add") =>
  kind === (own === "remove" ? "removed" : "added") || kind === "changed" || kind === "moved";

function Side({
  field,
  orb,
  before,
  after,
  changes,
  own,
}: NestedProps & { changes: Change[]; own: "remove" | "add" }) {
  const versions = own === "remove" ? [before, after] : [after, before];
  const shown = changes.filter((change) => isShown(change, own));
  if (shown.length === 0) return <span class="hint">{t("fields.none")}</span>;
  return (
    <ul class="nested-changes">
      {shown.map((change) => (
        <li key={`${change.kind} ${change.way.join("/")}`}>
          <span class="hint">
            {placeName(field, orb, change.way, versions)} · {t(`history.nested-${change.kind}`)}
          </span>
          {change.kind === "moved" ? null : <Words {...{ change, own }} />}
        </li>
      ))}
    </ul>
  );
}

/** Returns the older and the newer side of a difference. */
export function nestedSides(props: NestedProps): Record<"was" | "is", ComponentChildren> {
  const changes = changesIn(props.before, props.after);
  return {
    was: <Side {...props} changes={changes} own="remove" />,
    is: <Side {...props} changes={changes} own="add" />,
  };
}
