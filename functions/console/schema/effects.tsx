/** Shows the effects of a document change on stored entries. */
import type { DryRun } from "../api/orbs.ts";
import { orbLink } from "../shell/nav.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Link } from "../ui/link.tsx";
import { type Change, Losses } from "./form/losses.tsx";

/** Returns whether a change affects the content of stored entries, not only their index. */
const matters = ({ entries, severity }: Change) => entries > 0 && severity !== "index";

function Severity({ of: { refused, forceable, severity } }: { of: Change }) {
  if (refused && forceable) return <Badge tone="warning">{t("effect.confirm")}</Badge>;
  if (refused) return <Badge tone="bad">{t("effect.refused")}</Badge>;
  if (severity === "tightened") return <Badge tone="warning">{t("effect.nextWrite")}</Badge>;
  return <Badge tone="info">{t("effect.followed")}</Badge>;
}

export function Effects({ of: { impact }, orb }: { of: DryRun; orb: string }) {
  const changes = impact.changes.filter(matters);
  const invalid = impact.invalid.filter((one) => one.invalid > 0);
  if (changes.length + impact.duplicates.length + invalid.length === 0)
    return <p class="hint">{t("effect.none")}</p>;
  return (
    <ul class="effects">
      {changes.map((change) => (
        <li key={`${change.code} ${change.module}/${change.schema}/${change.field ?? ""}`}>
          <div>
            <strong>
              {change.module}/{change.schema}
            </strong>{" "}
            {change.message}
            <span class="hint">
              {" "}
              {t("effect.entries", { count: change.entries })}
              {change.values === undefined ? "" : ` ${t("effect.values", { count: change.values })}`}
            </span>
            {change.lossy === undefined ? null : <Losses of={change} lossy={change.lossy} orb={orb} />}
          </div>
          <Severity of={change} />
        </li>
      ))}
      {impact.duplicates.map(({ module, schema, field, ids }) => (
        <li key={`${module}/${schema}/${field} ${ids.join()}`}>
          <div>
            <strong>
              {module}/{schema}
            </strong>{" "}
            {t("effect.duplicates", { field })}{" "}
            {ids.map((id) => (
              <Link key={id} to={orbLink(orb, "entries", module, schema, id)} class="mono">
                {id}{" "}
              </Link>
            ))}
          </div>
          <Badge tone="bad">{t("effect.refused")}</Badge>
        </li>
      ))}
      {invalid.map(({ module, schema, checked, invalid: count }) => (
        <li key={`${module}/${schema}`}>
          <div>
            <strong>
              {module}/{schema}
            </strong>{" "}
            {t("effect.invalid", { count, checked })}
          </div>
          <Badge tone="warning">{t("effect.nextWrite")}</Badge>
        </li>
      ))}
    </ul>
  );
}

/** Returns whether the user can publish by confirming all blocking changes. */
export const canForce = ({ refused, impact }: DryRun): boolean =>
  refused && impact.duplicates.length === 0 && impact.changes.every((one) => !one.refused || one.forceable);
