/** The newest acts in an application: on its entries, change sets and files, and on its document. */
import { ActivityLines, readActivity } from "../activity/lines.tsx";
import type { OrbModel } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Link } from "../ui/link.tsx";
import { useSettledUsage } from "./usage.tsx";

/** Maximum number of acts in the list. */
const SHOWN = 10;

/** @param hasUsage whether the usage of the application is above */
export function Changes({ orb, hasUsage }: { orb: OrbModel; hasUsage: boolean }) {
  const isSettled = useSettledUsage(hasUsage ? orb : undefined);
  const { data } = useLoad(`orbs/${orb.id}/activity`, (signal) =>
    readActivity(orb.id, { limit: SHOWN }, signal),
  );
  if (data === undefined || !isSettled) return null;
  return (
    <section class="orb-changes" aria-labelledby="changes">
      <h2 id="changes">{t("orb.changes")}</h2>
      <ActivityLines orb={orb} items={data.items} named={data.named} label={t("orb.changes")} />
      <p>
        <Link to={orbLink(orb.id, "activity")}>{t("activity.all")}</Link>
      </p>
    </section>
  );
}
