import { useState } from "preact/hooks";
import { countCodes, makeCodes } from "../api/account.ts";
import { signinPage } from "../api/caller.ts";
import { confirm } from "../state/confirm.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy.tsx";
import { Time } from "../ui/time.tsx";
import { focusPart, Part, type Saying, useSaying } from "./part.tsx";

/** Shows new recovery codes. The user can see them only this once. */
function NewCodes({ codes, realm, saying }: { codes: readonly string[]; realm: string; saying: Saying }) {
  const copy = () =>
    void saying.attempt(async () => {
      if (await copyText(codes.join("\n"))) return t("account.codesCopied");
      throw new Error(t("account.codesNotCopied"));
    });
  return (
    <>
      <ol id="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <p class="hint">{t("account.codesUse", { address: location.origin + signinPage(realm) })}</p>
      <div class="actions">
        <Button kind="primary" icon="copy" onClick={copy}>
          {t("account.copyCodes")}
        </Button>
        <Button onClick={() => print()}>{t("account.printCodes")}</Button>
      </div>
    </>
  );
}

/** Shows how many recovery codes the account has left, and a button that creates new ones. */
export function Codes({ base, prefix, realm }: { base: string; prefix: string; realm: string }) {
  const saying = useSaying();
  const state = useLoad(`${prefix}codes`, (signal) => countCodes(base, signal));
  const [codes, setCodes] = useState<readonly string[]>();
  if (state.data === null || state.data === undefined) return null;
  const { remaining, createdAt } = state.data;
  const some = remaining > 0 && createdAt !== null;
  const make = async () => {
    const asked = {
      title: t("account.replaceCodes"),
      text: t("account.replaceCodesText"),
      action: t("account.replace"),
      danger: true,
    };
    if (some && !(await confirm(asked))) return;
    await saying.attempt(async () => {
      const made = await makeCodes(base);
      await state.reload();
      setCodes(made);
      focusPart("codes");
      return t("account.codesMade");
    });
  };
  return (
    <Part id="codes" title={t("account.codes")} saying={saying}>
      <p class="hint" id="codes-state">
        {some ? (
          <>
            {t("account.codesLeft", { count: remaining })} <Time at={createdAt} />.
          </>
        ) : (
          t("account.noCodes")
        )}{" "}
        {t("account.codesFor")}
      </p>
      {codes === undefined ? null : <NewCodes codes={codes} realm={realm} saying={saying} />}
      <Button icon="refresh" busy={saying.busy} onClick={() => void make()}>
        {t(some ? "account.newCodes" : "account.makeCodes")}
      </Button>
    </Part>
  );
}
