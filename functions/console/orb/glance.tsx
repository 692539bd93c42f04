/** What an application's admins should know at a glance: what goes live, what failed, and what is missing. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type ActivityItem, listActivity } from "../api/activity.ts";
import { listAllChanges } from "../api/changes.ts";
import { countMissing } from "../api/entries.ts";
import { hasFailedDeliveries } from "../api/platform.ts";
import { type OrbModel, titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { setsKey } from "../state/change.ts";
import { useLoad } from "../state/load.ts";
import { languageName, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Time } from "../ui/time.tsx";

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
/** Publications of a kind that are counted one by one, and pages of acts that are read for this. */
const COUNTED = 100;
const PAGES = 5;

function Line({ icon, children }: { icon: IconName; children: ComponentChildren }) {
  return (
    <li>
      <Icon name={icon} size={18} />
      <span>{children}</span>
    </li>
  );
}

interface Counted {
  count: number;
  /** False if there may be more. */
  exact: boolean;
}

/** Records and settings are not published, so they are not counted. */
const isPublished = (orb: OrbModel, { entry }: ActivityItem): boolean => {
  const type = orb.modules.find(({ id }) => id === entry?.module)?.type;
  return entry?.status === "PUBLISHED" && type !== "TRANSACTIONS" && type !== "SETTINGS";
};

async function countAct(orb: OrbModel, act: string, since: string, signal: AbortSignal): Promise<Counted> {
  const query = { "filter[kind]": "entry", "filter[act]": act, "filter[at][gte]": since, limit: COUNTED };
  let [count, cursor] = [0, ""];
  for (let page = 0; page < PAGES && count < COUNTED; page++) {
    const found = await listActivity(orb.id, cursor === "" ? query : { ...query, cursor }, signal);
    count += found.items.filter((item) => isPublished(orb, item)).length;
    if (found.nextCursor === null) return { count, exact: true };
    cursor = found.nextCursor;
  }
  return { count, exact: false };
}

/** Counts what was published in the last seven days, also by the requests that created it. */
async function countPublished(orb: OrbModel, signal: AbortSignal): Promise<Counted> {
  const since = new Date(Date.now() - WEEK_MS).toISOString();
  const counts = await Promise.all(["publish", "create"].map((act) => countAct(orb, act, since, signal)));
  return {
    count: counts.reduce((sum, { count }) => sum + count, 0),
    exact: counts.every(({ exact }) => exact),
  };
}

/** How often entries were published in the last seven days. */
function Published({ orb }: { orb: OrbModel }) {
  const { data, error } = useLoad(`orbs/${orb.id}/activity/week`, (signal) => countPublished(orb, signal));
  // The line has its height from the beginning, so that nothing below it moves.
  if (data === undefined) return error === undefined ? <Line icon="activity">…</Line> : null;
  const { count, exact } = data;
  const text = exact ? "orb.publishedWeek" : count === 0 ? "orb.publishedUnknown" : "orb.publishedWeekMore";
  return (
    <Line icon="activity">
      <Link to={`${orbLink(orb.id, "activity")}?kind=entry`}>{t(text, { count })}</Link>
    </Line>
  );
}

/** The change set that goes live next. */
function Next({ orb }: { orb: OrbModel }) {
  const { data } = useLoad(setsKey(orb.id, "planned"), (signal) =>
    listAllChanges({ orb: orb.id, managed: true }, { state: "SCHEDULED" }, signal),
  );
  const [next] = (data?.items ?? [])
    .flatMap(({ id, title, publishAt }) => (publishAt === null ? [] : [{ id, title, publishAt }]))
    .sort((one, other) => one.publishAt.localeCompare(other.publishAt));
  if (next === undefined) return null;
  return (
    <Line icon="clock">
      {t("orb.goesLive")}{" "}
      <Link to={orbLink(orb.id, "changes", next.id)}>
        <bdi>{next.title}</bdi>
      </Link>{" "}
      <span class="hint">
        <Time at={next.publishAt} />
      </span>
    </Line>
  );
}

function Failed({ orb }: { orb: OrbModel }) {
  const { data } = useLoad(`attention/failed/${orb.id}`, (signal) => hasFailedDeliveries(orb.id, { signal }));
  if (data !== true) return null;
  return (
    <Line icon="webhook">
      <Link to={`${orbLink(orb.id, "deliveries")}?status=failed`}>{t("orb.failed")}</Link>
    </Line>
  );
}

/** Returns the schemas with texts in several languages. */
const translatedIn = (orb: OrbModel) =>
  orb.modules
    .filter(({ type }) => type === "CONTENT" || type === "CONFIG")
    .flatMap((module) =>
      module.schemas
        .filter(({ fields }) => fields.some(({ translatable }) => translatable === true))
        .map((schema) => ({ module, schema })),
    );

/** What lacks a language. Counting reads all entries of the schemas, so the user asks for it. */
function Untranslated({ orb, language }: { orb: OrbModel; language: string }) {
  const [isAsked, setAsked] = useState(false);
  const { data, error, reload } = useLoad(
    isAsked ? `orbs/${orb.id}/missing/${language}` : null,
    async (signal) => {
      const found: { key: string; title: string; to: string; count: number; exact: boolean }[] = [];
      for (const { module, schema } of translatedIn(orb)) {
        const place = { orb: orb.id, module: module.id, schema: schema.id, managed: true };
        const to = `${orbLink(orb.id, "entries", module.id, schema.id)}?missing=${language}`;
        const counted = await countMissing(place, language, signal);
        if (counted.count > 0) found.push({ key: to, to, title: titleOf(schema), ...counted });
      }
      return found;
    },
  );
  return (
    <Line icon="languages">
      {t("orb.missingIn", { language: languageName(language) })}{" "}
      {data !== undefined || error !== undefined ? null : (
        <Button size="small" busy={isAsked} onClick={() => setAsked(true)}>
          {t("orb.count")}
        </Button>
      )}
      {error === undefined ? null : <ProblemBox error={error} retry={() => void reload()} />}
      {data?.length === 0 ? <span class="hint">{t("orb.missingNone")}</span> : null}
      {(data ?? []).map(({ key, title, to, count, exact }) => (
        <Link key={key} to={to} class="glance-count">
          <bdi>{title}</bdi> {t(exact ? "orb.missingCount" : "orb.missingMore", { count })}
        </Link>
      ))}
    </Line>
  );
}

/** Shows platform admins the state of a published application. */
export function Glance({ orb }: { orb: OrbModel }) {
  const [, ...further] = translatedIn(orb).length === 0 ? [] : orb.languages;
  return (
    <section class="card glance" aria-labelledby="glance">
      <h2 id="glance">{t("orb.glance")}</h2>
      <ul>
        <Published orb={orb} />
        <Next orb={orb} />
        <Failed orb={orb} />
        {further.map((language) => (
          <Untranslated key={language} {...{ orb, language }} />
        ))}
      </ul>
    </section>
  );
}
