/** Dialogs that create accounts: an invitation for a person, a service account for a program. */
import { useState } from "preact/hooks";
import { createService, invite, type PeoplePlace, type Person } from "../api/people.ts";
import { useAction } from "../state/action.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Checkbox, type Option, SelectField, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, ProblemBox } from "../ui/problem.tsx";
import { LinkDialog } from "./link.tsx";

interface Props {
  place: PeoplePlace;
  roles: readonly Option[];
  /** Says what people with a role can do. */
  explain: (role: string) => string;
  onClose: () => void;
}

/**
 * @param page console page that opens for the invited user after the registration
 * @param onDone called after the invitation was created and its link was shown
 */
export function InviteDialog({
  place,
  roles,
  explain,
  page,
  onClose,
  onDone,
}: Props & { page: string; onDone: () => void }) {
  const [role, setRole] = useState(roles[0]?.value ?? "");
  const [edits, setEdits] = useState(true);
  const { busy, error, run } = useAction();
  const [made, setMade] = useState<{ url: string; expiresAt: string }>();
  const create = async () => {
    const { url, expiresAt } = await invite(place, role);
    const address = new URL(url);
    if (edits) address.searchParams.set("return", page);
    setMade({ url: address.href, expiresAt });
  };
  if (made !== undefined) {
    const title = t("people.invited");
    return <LinkDialog title={title} text={t("people.invitedText")} url={made.url} onClose={onDone} />;
  }
  return (
    <Dialog
      title={t("people.invite")}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" busy={busy} onClick={() => void run(create)}>
            {t("people.createInvitation")}
          </Button>
        </>
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      <p class="dialog-text">{t(place.platform ? "people.inviteAdminText" : "people.inviteText")}</p>
      {place.platform ? null : (
        <>
          <SelectField
            label={t("people.role")}
            hint={explain(role)}
            value={role}
            options={roles}
            onChange={setRole}
          />
          <Checkbox label={t("people.toConsole")} checked={edits} onChange={setEdits} />
        </>
      )}
    </Dialog>
  );
}

export function ServiceDialog({
  place,
  roles,
  explain,
  onClose,
  onMade,
}: Props & { onMade: (account: Person) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState(roles[0]?.value ?? "");
  const { busy, error, run } = useAction();
  const create = async () => onMade(await createService(place, name, role));
  const fault = faultAt(faultsOf(error), "/name");
  return (
    <Dialog
      title={t("people.service")}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" form="service" busy={busy}>
            {t("people.createService")}
          </Button>
        </>
      }
    >
      <form
        id="service"
        onSubmit={(event) => {
          event.preventDefault();
          void run(create);
        }}
      >
        {error === undefined || fault !== undefined ? null : <ProblemBox error={error} />}
        <p class="dialog-text">{t("people.serviceText")}</p>
        <TextField label={t("people.name")} value={name} onChange={setName} error={fault} required />
        {place.platform ? null : (
          <SelectField
            label={t("people.role")}
            hint={explain(role)}
            value={role}
            options={roles}
            onChange={setRole}
          />
        )}
      </form>
    </Dialog>
  );
}
