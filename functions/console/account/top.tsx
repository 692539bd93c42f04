/** What platform admins need first: the access token for programs. And for all: the result of the sign-in. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ceremonies } from "../../pages/browser/ceremony.ts";
import { sendCeremony } from "../api/account.ts";
import { refresh } from "../state/cache.ts";
import { has, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy.tsx";
import { Said } from "../ui/states.tsx";
import { type Saying, useSaying } from "./part.tsx";

/**
 * A button that copies an access token. The platform returns a token only when a session begins, so the button asks for
 * the passkey first.
 */
function AccessToken({ base, saying }: { base: string; saying: Saying }) {
  const [token, setToken] = useState("");
  const [shown, setShown] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (shown) field.current?.select();
  }, [shown]);
  const copy = async (known: string) => {
    if (await copyText(known)) return t("account.tokenCopied");
    setShown(true);
    throw new Error(t("account.tokenNotCopied"));
  };
  const run = () =>
    void saying.attempt(
      async () => {
        if (token !== "") return copy(token);
        const begun = await ceremonies(base, sendCeremony).signIn();
        setToken(begun.token);
        // The session is a new one, and the user may have chosen the passkey of another account.
        refresh("account/");
        refresh("caller/");
        return copy(begun.token);
      },
      t("account.waiting"),
      "login",
    );
  return (
    <>
      <Button icon="copy" busy={saying.busy} onClick={run}>
        {t("account.copyToken")}
      </Button>
      {shown ? (
        <input ref={field} type="text" readOnly dir="ltr" aria-label={t("account.token")} value={token} />
      ) : null}
    </>
  );
}

/** @param after how the user has just signed in, such as `register`; null if the user was signed in already */
export function Top({ base, after }: { base: string; after: string | null }) {
  const key = `account.after-${after ?? ""}`;
  const saying = useSaying(has(key) ? t(key) : "");
  const platform = base === "/api/_auth";
  const isNew = after === "register" || after === "recover" || after === "code";
  return (
    <div class="account-top">
      {platform ? <AccessToken base={base} saying={saying} /> : null}
      <Said id="said-token" status={saying.status} error={saying.error} />
      {platform && isNew ? (
        <p class="hint">
          {t("account.next")} <a href="/api/docs">{t("account.nextDocs")}</a>.
        </p>
      ) : null}
    </div>
  );
}
