/** Leads to the right sign-in page, and back. */
import { accountPath, type Caller, signinPath } from "../api/caller.ts";
import { t } from "../texts/t.ts";
import { Icon } from "../ui/icon.tsx";
import { Page } from "../ui/page.tsx";

const here = () => location.pathname + location.search;

/** @param caller of the orb of the page, if the page is about one */
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
        <a class="choice" href={signinPath(accountPath("platform"), here())}>
          <Icon name="keyRound" size={20} />
          <span>
            <strong>{t("signin.admin")}</strong>
            <span class="hint">{t("signin.adminHint")}</span>
          </span>
        </a>
      </div>
    </Page>
  );
}

/** Says that the signed-in account may not see a page. */
export function NotAllowed({ caller }: { caller: Caller }) {
  return (
    <Page title={t("signin.refused")} lead={t("signin.refusedLead", { name: caller.account?.name ?? "" })}>
      <div class="choices">
        <a class="choice" href={signinPath(accountPath("platform"), here())}>
          <Icon name="keyRound" size={20} />
          <span>
            <strong>{t("signin.admin")}</strong>
            <span class="hint">{t("signin.adminHint")}</span>
          </span>
        </a>
      </div>
    </Page>
  );
}
