import { useState } from "preact/hooks";
import { ceremonies } from "../../pages/browser/ceremony.ts";
import { type Passkey, removePasskey, renamePasskey, sendCeremony } from "../api/account.ts";
import { confirm } from "../state/confirm.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Time } from "../ui/time.tsx";
import { focusPart, Part, unlessGone, useSaying } from "./part.tsx";
import type { Ways } from "./ways.ts";

function PasskeyItem({
  passkey,
  onRename,
  onRemove,
}: {
  passkey: Passkey;
  onRename: (name: string) => void;
  /** Undefined if the passkey is the last way to sign in. Removing it would lock the user out. */
  onRemove: (() => void) | undefined;
}) {
  const [name, setName] = useState(passkey.name);
  const rename = () => {
    const wanted = name.trim();
    if (wanted === "" || wanted === passkey.name) setName(passkey.name);
    else onRename(wanted);
  };
  return (
    <li>
      <div>
        <input
          type="text"
          maxLength={64}
          dir="auto"
          autocomplete="off"
          aria-label={t("account.passkeyName")}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onChange={rename}
        />
        <p class="hint">
          {t("account.added")} <Time at={passkey.createdAt} />
          {passkey.lastUsedAt === null ? null : (
            <>
              , {t("account.lastUsed")} <Time at={passkey.lastUsedAt} />
            </>
          )}
        </p>
      </div>
      {onRemove === undefined ? null : (
        <Button aria-label={t("account.removeNamed", { name: passkey.name })} onClick={onRemove}>
          {t("account.remove")}
        </Button>
      )}
    </li>
  );
}

/** The passkeys of the account. @param ways all ways to sign in to the account */
export function Passkeys({ base, ways }: { base: string; ways: Ways }) {
  const saying = useSaying();
  const passkeys = ways.passkeys.data ?? [];
  const add = () =>
    void saying.attempt(async () => {
      await ceremonies(base, sendCeremony).register({ add: true });
      await ways.reload();
      return t("account.passkeyAdded");
    }, t("account.waiting"));
  const rename = ({ id }: Passkey, name: string) =>
    void saying.attempt(async () => {
      await renamePasskey(base, id, name);
      await ways.passkeys.reload();
      return t("account.passkeyRenamed", { name });
    });
  const drop = async ({ id, name }: Passkey) => {
    const text = t("account.removeText");
    const title = t("account.removeTitle", { name });
    if (!(await confirm({ title, text, action: t("account.remove"), danger: true }))) return;
    await saying.attempt(async () => {
      await removePasskey(base, id).catch(unlessGone);
      await ways.reload();
      focusPart("passkeys");
      return t("account.passkeyRemoved", { name });
    });
  };
  return (
    <Part id="passkeys" title={t("account.passkeys")} text={t("account.passkeysText")} saying={saying}>
      <ul>
        {passkeys.map((passkey) => (
          <PasskeyItem
            key={`${passkey.id} ${passkey.name}`}
            passkey={passkey}
            onRename={(name) => rename(passkey, name)}
            onRemove={ways.count <= 1 ? undefined : () => void drop(passkey)}
          />
        ))}
      </ul>
      <Button icon="plus" busy={saying.busy} onClick={add}>
        {t(passkeys.length === 0 ? "account.addFirst" : "account.addPasskey")}
      </Button>
    </Part>
  );
}
