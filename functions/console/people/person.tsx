/** The page of an account: its role, state, recovery link and tokens, and a button to remove it. */
import { useState } from "preact/hooks";
import {
  changePerson,
  type Invitation,
  type PeoplePlace,
  type Person,
  recoverPerson,
  removePerson,
} from "../api/people.ts";
import { t } from "../texts/t.ts";
import { Button, CopyButton } from "../ui/button.tsx";
import { confirm, Dialog } from "../ui/dialog.tsx";
import { type Option, SelectField } from "../ui/form.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Time } from "../ui/time.tsx";
import { say } from "../ui/toast.tsx";

export function PersonDialog({
  place,
  person,
  roles,
  editable,
  own,
  onChange,
  onLink,
  onTokens,
  onClose,
}: {
  place: PeoplePlace;
  person: Person;
  /** The roles that the caller may grant. */
  roles: readonly Option[];
  /** Whether the caller may change the account. */
  editable: boolean;
  /** Whether the account is the caller's own. */
  own: boolean;
  onChange: () => void;
  onLink: (link: Invitation) => void;
  onTokens: () => void;
  onClose: () => void;
}) {
  const [role, setRole] = useState(person.role ?? "");
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<unknown>();
  const { id, name, service, status, email } = person;
  const run = async (what: string, act: () => Promise<unknown>) => {
    setBusy(what);
    setError(undefined);
    try {
      await act();
    } catch (reason) {
      setError(reason);
    }
    setBusy(undefined);
  };
  const change = (what: string, to: { role?: string; status?: "active" | "disabled" }) =>
    run(what, async () => {
      await changePerson(place, id, to);
      say(t("people.changed", { name }));
      onChange();
    });
  const disable = async () => {
    const text = t("people.disableText", { name });
    if (await confirm({ title: t("people.disableTitle", { name }), text, action: t("people.disable") }))
      await change("status", { status: "disabled" });
  };
  const drop = async () => {
    const text = t(place.platform ? "people.removeAdminText" : "people.removeText", { name });
    const asked = {
      title: t("people.removeTitle", { name }),
      text,
      action: t("people.remove"),
      danger: true,
    };
    if (!(await confirm(asked))) return;
    await run("remove", async () => {
      await removePerson(place, id);
      say(t("people.removed", { name }));
      onChange();
    });
  };
  const recover = async () => {
    await run("recover", async () => onLink(await recoverPerson(place, id)));
  };
  const granted = roles.some(({ value }) => value === role)
    ? roles
    : [{ value: role, label: role }, ...roles];
  return (
    <Dialog title={name} onClose={onClose}>
      {error === undefined ? null : <ProblemBox error={error} />}
      <dl class="facts">
        <dt>{t("people.id")}</dt>
        <dd>
          <code>{id}</code> <CopyButton text={id} label={t("people.copyId")} />
        </dd>
        {email === undefined ? null : (
          <>
            <dt>{t("people.email")}</dt>
            <dd>{email}</dd>
          </>
        )}
        <dt>{t("people.since")}</dt>
        <dd>
          <Time at={person.createdAt} />
        </dd>
        <dt>{t("people.passkeys")}</dt>
        <dd>{service === true ? t("people.noPasskeys") : person.passkeys}</dd>
      </dl>
      {place.platform || !editable ? null : (
        <div class="copy-line">
          <SelectField label={t("people.role")} value={role} options={granted} onChange={setRole} />
          <Button
            disabled={role === person.role}
            busy={busy === "role"}
            onClick={() => void change("role", { role })}
          >
            {t("people.changeRole")}
          </Button>
        </div>
      )}
      {own ? <p class="hint">{t("people.own")}</p> : null}
      {editable ? (
        <div class="actions">
          {service === true ? (
            <Button icon="keyRound" onClick={onTokens}>
              {t("people.tokens")}
            </Button>
          ) : (
            <Button icon="link" busy={busy === "recover"} onClick={() => void recover()}>
              {t("people.recover")}
            </Button>
          )}
          {place.platform ? null : status === "disabled" ? (
            <Button
              icon="check"
              busy={busy === "status"}
              onClick={() => void change("status", { status: "active" })}
            >
              {t("people.enable")}
            </Button>
          ) : (
            <Button icon="lock" busy={busy === "status"} onClick={() => void disable()}>
              {t("people.disable")}
            </Button>
          )}
          <Button kind="danger" icon="trash" busy={busy === "remove"} onClick={() => void drop()}>
            {t("people.remove")}
          </Button>
        </div>
      ) : (
        <p class="hint">{t("people.notEditable")}</p>
      )}
    </Dialog>
  );
}
