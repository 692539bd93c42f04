import { endOtherSessions, endSession, listSessions, type SessionEntry } from "../api/account.ts";
import { confirm } from "../state/confirm.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { exactTime, Time } from "../ui/time.tsx";
import { focusPart, Part, unlessGone, useSaying } from "./part.tsx";

/** Maximum number of sessions listed on the page. Older sessions are only counted. */
const SHOWN = 20;

function deviceOf({ browser, system }: SessionEntry): string {
  if (browser === null || system === null) return browser ?? system ?? t("account.unknownDevice");
  return t("account.device", { browser, system });
}

/** Shortens a network in CIDR notation to the part that all its addresses share, for example `203.0.113.…`. */
const shortNetwork = (network: string) => network.replace(/(?<=[.:])[0:]\/\d+$/, "…");

function SessionItem({ session, onEnd }: { session: SessionEntry; onEnd: () => void }) {
  const { createdAt, network, current } = session;
  const name = deviceOf(session);
  return (
    <li>
      <div>
        <strong>{name}</strong>
        {current ? (
          <>
            {" "}
            <Badge tone="good">{t("account.thisOne")}</Badge>
          </>
        ) : null}
        <p class="hint">
          {t("account.signedInAt")} <Time at={createdAt} />
          {network === null ? null : `, ${t("account.network", { network: shortNetwork(network) })}`}
        </p>
      </div>
      {current ? null : (
        <Button aria-label={t("account.endNamed", { name, at: exactTime(createdAt) })} onClick={onEnd}>
          {t("account.signOut")}
        </Button>
      )}
    </li>
  );
}

/** The sessions of the account. */
export function Sessions({ base, prefix }: { base: string; prefix: string }) {
  const saying = useSaying();
  const { data: sessions, reload } = useLoad(`${prefix}sessions`, (signal) => listSessions(base, signal));
  if (sessions === null || sessions === undefined) return null;
  const act = (work: () => Promise<void>, done: string) =>
    saying.attempt(async () => {
      await work();
      await reload();
      focusPart("sessions");
      return done;
    });
  const end = async (session: SessionEntry) => {
    const name = deviceOf(session);
    const text = t("account.endText", { at: exactTime(session.createdAt) });
    if (!(await confirm({ title: t("account.endTitle", { name }), text, action: t("account.signOut") })))
      return;
    await act(() => endSession(base, session.id).catch(unlessGone), t("account.ended", { name }));
  };
  const older = sessions.length - SHOWN;
  return (
    <Part id="sessions" title={t("account.sessions")} text={t("account.sessionsText")} saying={saying}>
      <ul>
        {sessions.slice(0, SHOWN).map((session) => (
          <SessionItem key={session.id} session={session} onEnd={() => void end(session)} />
        ))}
      </ul>
      {older > 0 ? <p class="hint">{t("account.older", { count: older })}</p> : null}
      {sessions.length < 2 ? null : (
        <Button
          busy={saying.busy}
          onClick={() => void act(() => endOtherSessions(base), t("account.othersEnded"))}
        >
          {t("account.endOthers")}
        </Button>
      )}
    </Part>
  );
}
