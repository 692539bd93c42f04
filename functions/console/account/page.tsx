/** The page of the signed-in account of a realm: platform admins, shared accounts, or the users of an application. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { isProblem } from "../../../shared/client/problem.ts";
import { Tokens } from "../accounts/tokens.tsx";
import { type OwnAccount, readOwnAccount } from "../api/account.ts";
import { accountPage, basePath, signinPage, signinPath, signOut } from "../api/caller.ts";
import { listTokens } from "../api/people.ts";
import type { PageParams } from "../shell/nav.ts";
import { useAction } from "../state/action.ts";
import { useLoad } from "../state/load.ts";
import { has, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Page } from "../ui/page.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Shows } from "../ui/states.tsx";
import { Codes } from "./codes.tsx";
import { Identities } from "./identities.tsx";
import { Part } from "./part.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Sessions } from "./sessions.tsx";
import { Top } from "./top.tsx";
import { useWays } from "./ways.ts";

/** Prefix of the keys under which the data of an account is cached. */
const prefixOf = (realm: string) => `account/${realm}/`;

/** Reads how the user has just signed in, and removes it from the address, so that a reload does not repeat it. */
function useAfter(): string | null {
  const [search, setSearch] = useSearchParams();
  const after = useRef(search.get("after")).current;
  useLayoutEffect(() => {
    if (!search.has("after")) return;
    const rest = new URLSearchParams(search);
    rest.delete("after");
    setSearch(rest, { replace: true });
  }, []);
  return after;
}

/**
 * A link to the page that the user came from. The sign-in page judges whether an address elsewhere can be trusted.
 */
function Back({ realm }: { realm: string }) {
  const [search] = useSearchParams();
  const back = search.get("return");
  if (back === null || !URL.canParse(back, location.origin)) return null;
  const { origin, host, href, pathname } = new URL(back, location.origin);
  const own = origin === location.origin;
  const isConsole = own && /^\/console(\/|$)/.test(pathname);
  return (
    <a class="button" href={own ? href : signinPath(signinPage(realm), back)}>
      {isConsole ? t("account.backToConsole") : own ? t("account.back") : t("account.backTo", { host })}
    </a>
  );
}

function OwnTokens({ own, base }: { own: OwnAccount; base: string }) {
  const { id } = own.realm;
  const owner = { base };
  const tokens = useLoad(`${prefixOf(id)}tokens`, (signal) => listTokens(owner, signal));
  if (tokens.data === null || tokens.data === undefined) return null;
  const platform = id === "platform";
  return (
    <Part id="tokens" title={t("account.tokens")} text={t("account.tokensText")}>
      <Tokens
        owner={owner}
        tokens={tokens}
        orb={platform || id === "auth" ? undefined : id}
        endless={platform}
        folded
      />
    </Part>
  );
}

function Parts({ own, after }: { own: OwnAccount; after: string | null }) {
  const { id, ways: kinds, providers } = own.realm;
  const base = basePath(id);
  const prefix = prefixOf(id);
  const ways = useWays(own, base, prefix);
  const page = `/console${accountPage(id)}`;
  return (
    <div class="account-parts">
      <Top base={base} after={after} />
      {kinds.includes("passkey") ? <Passkeys {...{ base, ways }} /> : null}
      {kinds.includes("oauth") ? <Identities {...{ base, page, providers, ways }} /> : null}
      {kinds.includes("passkey") ? <Codes {...{ base, prefix }} realm={id} /> : null}
      <Sessions {...{ base, prefix }} />
      <OwnTokens own={own} base={base} />
    </div>
  );
}

/** Returns the name of a realm. Orbs have names of their own. */
function realmTitle(realm: string, title: string): string {
  const key = `account.realm-${realm}`;
  return has(key) ? t(key) : title;
}

export default function AccountPage({ params: { realm = "" } }: { params: PageParams }) {
  const account = useLoad(`${prefixOf(realm)}me`, (signal) => readOwnAccount(realm, signal));
  const after = useAfter();
  const { busy, error, run } = useAction();
  const leave = async () => {
    await signOut(realm);
    location.assign(signinPage(realm) + location.search);
  };
  const refused = isProblem(account.error) && (account.error.status === 401 || account.error.status === 403);
  if (refused)
    return (
      <Page title={t("account.title")} lead={t("account.elsewhere")}>
        <a class="button primary" href={signinPath(signinPage(realm), location.pathname + location.search)}>
          {t("account.signIn")}
        </a>
      </Page>
    );
  const own = account.data;
  return (
    <Page
      title={t("account.title")}
      lead={
        own === undefined ? undefined : (
          <>
            {t("account.as")}{" "}
            <strong id="who" dir="auto">
              {own.name}
            </strong>{" "}
            · <bdi>{realmTitle(realm, own.realm.title)}</bdi>
          </>
        )
      }
      actions={
        <>
          <Back realm={realm} />
          <Button icon="logOut" busy={busy} onClick={() => void run(leave)}>
            {t("account.signOut")}
          </Button>
        </>
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      <Shows of={account}>{(found) => <Parts key={found.id} own={found} after={after} />}</Shows>
    </Page>
  );
}
