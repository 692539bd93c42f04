/** The API tokens of a service account. */
import { useState } from "preact/hooks";
import {
  CANS,
  type Can,
  createToken,
  listTokens,
  type PeoplePlace,
  type Person,
  revokeToken,
} from "../api/people.ts";
import { useAction } from "../state/action.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button, CopyButton } from "../ui/button.tsx";
import { confirm, Dialog } from "../ui/dialog.tsx";
import { Checkbox, SelectField, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, ProblemBox } from "../ui/problem.tsx";
import { Shows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";

const DAYS = ["30", "90", "365"] as const;
const DAY_MS = 86_400_000;

function NewToken({
  place,
  account,
  orb,
  onMade,
}: {
  place: PeoplePlace;
  account: string;
  /** The application that the token is valid for; `*` for all applications. */
  orb: string;
  onMade: (text: string) => void;
}) {
  const [name, setName] = useState("");
  const [days, setDays] = useState<string>(DAYS[1]);
  const [cans, setCans] = useState<readonly Can[]>(["read"]);
  const { busy, error, run } = useAction();
  const create = async () => {
    const expiresAt = new Date(Date.now() + Number(days) * DAY_MS).toISOString();
    const made = await createToken(place, { account, name, expiresAt, scopes: [{ orb, can: [...cans] }] });
    setName("");
    onMade(made.token);
  };
  const fault = faultAt(faultsOf(error), "/name");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(create);
      }}
    >
      <h3>{t("people.newToken")}</h3>
      {error === undefined || fault !== undefined ? null : <ProblemBox error={error} />}
      <TextField label={t("people.name")} value={name} onChange={setName} error={fault} required />
      <SelectField
        label={t("people.expires")}
        value={days}
        options={DAYS.map((value) => ({ value, label: t("people.days", { count: Number(value) }) }))}
        onChange={setDays}
      />
      <fieldset class="field">
        <legend>{t("people.scopes")}</legend>
        {CANS.map((can) => (
          <Checkbox
            key={can}
            label={t(`people.can-${can}`)}
            checked={cans.includes(can)}
            onChange={(on) => setCans(CANS.filter((one) => (one === can ? on : cans.includes(one))))}
          />
        ))}
      </fieldset>
      <Button type="submit" icon="plus" busy={busy} disabled={cans.length === 0}>
        {t("people.createToken")}
      </Button>
    </form>
  );
}

export function TokensDialog({
  place,
  person,
  orb,
  onClose,
}: {
  place: PeoplePlace;
  person: Person;
  orb: string;
  onClose: () => void;
}) {
  const tokens = useLoad(`tokens/${person.id}`, (signal) => listTokens(place, person.id, signal));
  const [text, setText] = useState<string>();
  const [error, setError] = useState<unknown>();
  const revoke = async (id: string, name: string) => {
    const sure = await confirm({
      title: t("people.revokeToken", { name }),
      text: t("people.revokeTokenText"),
      action: t("people.revoke"),
      danger: true,
    });
    if (!sure) return;
    setError(undefined);
    await revokeToken(place, person.id, id).catch(setError);
    await tokens.reload();
  };
  return (
    <Dialog title={t("people.tokensOf", { name: person.name })} onClose={onClose} wide>
      {error === undefined ? null : <ProblemBox error={error} />}
      {text === undefined ? null : (
        <div class="notice" role="status">
          <p>{t("people.tokenOnce")}</p>
          <div class="copy-line">
            <input
              readOnly
              aria-label={t("people.token")}
              value={text}
              onFocus={(event) => event.currentTarget.select()}
            />
            <CopyButton text={text} label={t("people.copyToken")} />
          </div>
        </div>
      )}
      <Shows of={tokens}>
        {(all) =>
          all.length === 0 ? (
            <p class="hint">{t("people.noTokens")}</p>
          ) : (
            <ul class="rows">
              {all.map(({ id, name, scopes, expiresAt, lastUsedAt }) => (
                <li key={id} class="row-between">
                  <span>
                    <strong>{name}</strong>{" "}
                    <span class="hint">
                      {scopes.map((scope) => `${scope.orb}: ${scope.can.join(", ")}`).join("; ")} ·{" "}
                      {expiresAt === "never" ? t("people.never") : <Time at={expiresAt} />} ·{" "}
                      {lastUsedAt === null ? t("people.unused") : <Time at={lastUsedAt} />}
                    </span>
                  </span>
                  <Button size="small" icon="trash" onClick={() => void revoke(id, name)}>
                    {t("people.revoke")}
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Shows>
      <NewToken
        place={place}
        account={person.id}
        orb={orb}
        onMade={(made) => {
          setText(made);
          void tokens.reload();
        }}
      />
    </Dialog>
  );
}
