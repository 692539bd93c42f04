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

interface PersonProps {
  place: PeoplePlace;
  person: Person;
  /** The roles that the caller may grant. */
  roles: readonly Option[];
  roleName: (role: string) => string;
  /** Says what people with a role can do. */
  explain: (role: string) => string;
  /** Whether the caller may change the account. */
  editable: boolean;
  /** Whether the account is the caller's own. */
  own: boolean;
  onChange: () => void;
  onLink: (link: Invitation) => void;
  onTokens: () => void;
  onClose: () => void;
}

type Action = "role" | "status" | "recover" | "remove";

/** The changes of an account, and which of them is running. */
function useChanges({ place, person, onChange, onLink }: PersonProps) {
  const [busy, setBusy] = useState<Action>();
  const [error, setError] = useState<unknown>();
  const { id, name } = person;
  const run = async (action: Action, work: () => Promise<unknown>) => {
    setBusy(action);
    setError(undefined);
    try {
      await work();
    } catch (reason) {
      setError(reason);
    }
    setBusy(undefined);
  };
  const change = (action: Action, to: { role?: string; status?: "active" | "disabled" }) =>
    run(action, async () => {
      await changePerson(place, id, to);
      say(t("people.changed", { name }));
      onChange();
    });
  return {
    busy,
    error,
    setRole: (role: string) => change("role", { role }),
    enable: () => change("status", { status: "active" }),
    async disable() {
      const text = t("people.disableText", { name });
      const title = t("people.disableTitle", { name });
      if (await confirm({ title, text, action: t("people.disable") }))
        await change("status", { status: "disabled" });
    },
    recover: () => run("recover", async () => onLink(await recoverPerson(place, id))),
    async drop() {
      const text = t(place.platform ? "people.removeAdminText" : "people.removeText", { name });
      const title = t("people.removeTitle", { name });
      if (!(await confirm({ title, text, action: t("people.remove"), danger: true }))) return;
      await run("remove", async () => {
        await removePerson(place, id);
        say(t("people.removed", { name }));
        onChange();
      });
    },
  };
}

type Changes = ReturnType<typeof useChanges>;

function Facts({ person: { id, email, createdAt, passkeys, service } }: { person: Person }) {
  return (
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
        <Time at={createdAt} />
      </dd>
      <dt>{t("people.passkeys")}</dt>
      <dd>{service === true ? t("people.noPasskeys") : passkeys}</dd>
    </dl>
  );
}

function RoleChoice({ person, roles, roleName, explain, changes }: PersonProps & { changes: Changes }) {
  const [role, setRole] = useState(person.role ?? "");
  const granted = roles.some(({ value }) => value === role)
    ? roles
    : [{ value: role, label: roleName(role) }, ...roles];
  return (
    <div class="copy-line">
      <SelectField
        label={t("people.role")}
        hint={explain(role)}
        value={role}
        options={granted}
        onChange={setRole}
      />
      <Button
        disabled={role === person.role}
        busy={changes.busy === "role"}
        onClick={() => void changes.setRole(role)}
      >
        {t("people.changeRole")}
      </Button>
    </div>
  );
}

function Actions({ place, person, onTokens, changes }: PersonProps & { changes: Changes }) {
  const { busy, enable, disable, recover, drop } = changes;
  const disabled = person.status === "disabled";
  return (
    <div class="actions">
      {person.service === true ? (
        <Button icon="keyRound" onClick={onTokens}>
          {t("people.tokens")}
        </Button>
      ) : (
        <Button icon="link" busy={busy === "recover"} onClick={() => void recover()}>
          {t("people.recover")}
        </Button>
      )}
      {place.platform ? null : (
        <Button
          icon={disabled ? "check" : "lock"}
          busy={busy === "status"}
          onClick={() => void (disabled ? enable() : disable())}
        >
          {t(disabled ? "people.enable" : "people.disable")}
        </Button>
      )}
      <Button kind="danger" icon="trash" busy={busy === "remove"} onClick={() => void drop()}>
        {t("people.remove")}
      </Button>
    </div>
  );
}

export function PersonDialog(props: PersonProps) {
  const { place, person, editable, own, onClose } = props;
  const changes = useChanges(props);
  return (
    <Dialog title={person.name} onClose={onClose}>
      {changes.error === undefined ? null : <ProblemBox error={changes.error} />}
      <Facts person={person} />
      {place.platform || !editable ? null : <RoleChoice {...props} changes={changes} />}
      {own ? <p class="hint">{t("people.own")}</p> : null}
      {editable ? <Actions {...props} changes={changes} /> : <p class="hint">{t("people.notEditable")}</p>}
    </Dialog>
  );
}
