/** Problems that the home page lists: damaged definitions, absent handlers, failed deliveries, unpublished drafts. */
import type { ComponentChildren } from "preact";
import { type OrbItem, readOrb } from "../api/orbs.ts";
import { absentHandlers, hasFailedDeliveries, listFaults } from "../api/platform.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { refresh } from "../state/cache.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { complain, say } from "../ui/toast.tsx";

interface Concern {
  id: string;
  icon: IconName;
  tone: "bad" | "warning" | "info";
  text: ComponentChildren;
  action?: ComponentChildren;
}

/** Returns whether a newer version of the platform stored the definition, so that there is nothing to repair. */
const isOfNewerVersion = (codes: readonly string[]) => codes.some((code) => code.endsWith("newer_version"));

/**
 * Repairs a damaged definition. For that, it only has to read the application: the platform then restores the
 * definition from the application's history.
 */
async function repair(orb: string): Promise<void> {
  try {
    await readOrb(orb);
    say(t("home.repaired", { orb }));
    refresh("");
  } catch (error) {
    complain(error);
  }
}

/** Returns the ids of applications with failed deliveries. Limits concurrent requests. */
async function failedOrbs(orbs: readonly OrbItem[], signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  const waiting = orbs.filter(({ status }) => status !== "ARCHIVED").map(({ id }) => id);
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      if (await hasFailedDeliveries(id, { signal })) found.push(id);
  };
  await Promise.all([work(), work(), work()]);
  return found.sort();
}

const DAMAGED = {
  orb: "home.damagedOrb",
  handler: "home.damagedHandler",
  stream: "home.lostStream",
} as const;

export function Attention({ orbs }: { orbs: readonly OrbItem[] }) {
  const faults = useLoad("attention/faults", listFaults);
  const absent = useLoad("attention/absent", absentHandlers);
  const failed = useLoad(`attention/failed/${orbs.map(({ id }) => id).join()}`, (signal) =>
    failedOrbs(orbs, signal),
  );
  const nameOf = (id: string) => titleOf(orbs.find((orb) => orb.id === id) ?? { id });
  const concerns: Concern[] = [
    ...(faults.data ?? []).map(
      ({ kind, id, codes, remedy }): Concern => ({
        id: `${kind} ${id}`,
        icon: "circleAlert",
        tone: "bad",
        text: t(kind === "orb" && isOfNewerVersion(codes) ? "home.newerOrb" : DAMAGED[kind], {
          id,
          codes: codes.join(", ").replace(" newer_version", ""),
        }),
        action:
          kind === "orb" && !isOfNewerVersion(codes) ? (
            <Button size="small" onClick={() => void repair(id)}>
              {t("home.repair")}
            </Button>
          ) : (
            <span class="hint">{remedy}</span>
          ),
      }),
    ),
    ...(failed.data ?? []).map(
      (id): Concern => ({
        id: `failed ${id}`,
        icon: "webhook",
        tone: "bad",
        text: t("home.failed", { orb: nameOf(id) }),
        action: <Link to={`${orbLink(id, "deliveries")}?status=failed`}>{t("home.look")}</Link>,
      }),
    ),
    ...(absent.data ?? []).map(
      (name): Concern => ({
        id: `absent ${name}`,
        icon: "zap",
        tone: "warning",
        text: t("home.absent", { name }),
        action: <Link to="/handlers">{t("home.look")}</Link>,
      }),
    ),
    ...orbs
      .filter(({ revision, publishedRevision }) => publishedRevision !== null && publishedRevision < revision)
      .map(
        (orb): Concern => ({
          id: `draft ${orb.id}`,
          icon: "pencil",
          tone: "info",
          text: t("home.draft", { orb: titleOf(orb) }),
          action: <Link to={orbLink(orb.id)}>{t("home.look")}</Link>,
        }),
      ),
  ];
  if (concerns.length === 0) {
    const isKnown = [faults, failed, absent].every(
      ({ data, error }) => data !== undefined || error !== undefined,
    );
    return isKnown ? <p class="hint wide-only">{t("home.calm")}</p> : null;
  }
  return (
    <section class="concerns" aria-labelledby="concerns">
      <h2 id="concerns">{t("home.attention")}</h2>
      <ul>
        {concerns.map(({ id, icon, tone, text, action }) => (
          <li key={id} class={tone}>
            <Icon name={icon} size={18} />
            <span>{text}</span>
            {action}
          </li>
        ))}
      </ul>
    </section>
  );
}
