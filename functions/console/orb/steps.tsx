import type { OrbDocument } from "../api/orbs.ts";
import type { OrbModel } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import type { Loaded } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Icon } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";

/** Shows the next steps for a new application, until the application is published and has an entry. */
export function Steps({
  orb,
  entries,
}: {
  orb: OrbModel & Partial<OrbDocument>;
  /** The number of entries, which loads later than the application. */
  entries: Pick<Loaded<number>, "data" | "error">;
}) {
  const place = orb.modules
    .filter(({ type }) => type === "CONTENT" || type === "CONFIG")
    .flatMap((module) => module.schemas.map((schema) => [module.id, schema.id] as const))[0];
  const steps = [
    {
      id: "schema",
      title: t("orb.stepSchema"),
      hint: t("orb.stepSchemaHint"),
      to: orbLink(orb.id, "schema"),
      done: orb.modules.some(({ schemas }) => schemas.length > 0),
    },
    {
      id: "publish",
      title: t("orb.stepPublish"),
      hint: t("orb.stepPublishHint"),
      to: orbLink(orb.id, "schema"),
      done: orb.publishedRevision != null,
    },
    ...(place === undefined
      ? []
      : [
          {
            id: "entry",
            title: t("orb.stepEntry"),
            hint: t("orb.stepEntryHint"),
            to: orbLink(orb.id, "entries", ...place, "new"),
            done: (entries.data ?? 0) > 0,
          },
        ]),
    {
      id: "invite",
      title: t("orb.stepInvite"),
      hint: t("orb.stepInviteHint"),
      to: orbLink(orb.id, "people"),
      done: false,
    },
  ];
  // Until the number is known, a published application keeps no place for steps that it probably does not need.
  const isKnown = entries.data !== undefined || orb.publishedRevision == null;
  if (!isKnown || steps.every(({ id, done }) => done || id === "invite")) return null;
  return (
    <section class="card steps" aria-labelledby="steps">
      <h2 id="steps">{t("orb.steps")}</h2>
      <ol>
        {steps.map(({ id, title, hint, to, done }) => (
          <li key={id} class={done ? "done" : ""}>
            <Icon name={done ? "circleCheck" : "chevronRight"} size={18} />
            <span>
              {done ? <span class="sr-only">{t("orb.done")}: </span> : null}
              <Link to={to}>{title}</Link>
              <span class="hint">{hint}</span>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
