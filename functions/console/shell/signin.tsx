/** Links to the sign-in pages, which send the user back to the current page. */
import { type Caller, signinPage, signinPath } from "../api/caller.ts";
import { discoverOrbs } from "../api/orbs.ts";
import { titleOf } from "../model/orb.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Icon } from "../ui/icon.tsx";
import { Page } from "../ui/page.tsx";
import { orbLink } from "./nav.ts";

const here = () => location.pathname + location.search;

/** A link to the sign-in page of platform admins. */
const AdminSignIn = () => (
  <a class="choice" href={signinPath(signinPage("platform"), here())}>
    <Icon name="keyRound" size={20} />
    <span>
      <strong>{t("signin.admin")}</strong>
      <span class="hint">{t("signin.adminHint")}</span>
    </span>
  </a>
);

/** Links to the sign-in pages of all published applications. Shown on pages that belong to no application. */
function OrbSignIns() {
  const { data: orbs = [] } = useLoad("published", discoverOrbs);
  if (orbs.length === 0) return null;
  return (
    <section class="signins">
      <h2>{t("signin.orbs")}</h2>
      <ul class="rows">
        {orbs.map((orb) => (
          <li key={orb.id}>
            <a href={signinPath(orb.links.signin, `/console${orbLink(orb.id)}`)}>{titleOf(orb)}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** @param caller says which application the user signs in to, if the page belongs to one */
export function SignIn({ caller }: { caller: Caller }) {
  const { orb } = caller;
  return (
    <Page title={t("signin.title")} lead={t("signin.lead")}>
      <div class="choices">
        {orb === null ? null : (
          <a class="choice" href={signinPath(orb.signin, here())}>
            <Icon name="users" size={20} />
            <span>
              <strong>{t("signin.user", { orb: orb.name ?? orb.id })}</strong>
              <span class="hint">{t("signin.userHint")}</span>
            </span>
          </a>
        )}
        <AdminSignIn />
      </div>
      {orb === null ? <OrbSignIns /> : null}
      <p class="hint signins">{t("signin.first")}</p>
    </Page>
  );
}

/** Shown when the signed-in account has no access to a page. */
export function NotAllowed({ caller }: { caller: Caller }) {
  return (
    <Page title={t("signin.refused")} lead={t("signin.refusedLead", { name: caller.account?.name ?? "" })}>
      <div class="choices">
        <AdminSignIn />
      </div>
    </Page>
  );
}
