/** Lists invitations and recovery links that have not been used yet. */
import { type Invitation, listInvitations, type PeoplePlace, revokeInvitation } from "../api/people.ts";
import { useAction } from "../state/action.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { say } from "../ui/toast.tsx";

const TONES = { active: "good", used: "neutral", expired: "neutral", revoked: "warning" } as const;

interface InvitationsProps {
  place: PeoplePlace;
  keyOf: string;
  roleName: (role: string) => string;
  editable: boolean;
  onLink: (invitation: Invitation) => void;
}

function columnsOf(
  { place, roleName, editable, onLink }: InvitationsProps,
  revoke: (invitation: Invitation) => void,
): Column<Invitation>[] {
  return [
    {
      id: "purpose",
      label: t("people.purpose"),
      cell: ({ purpose, role }) => {
        if (purpose === "recover") return t("people.recovery");
        return place.platform ? t("people.newAdmin") : roleName(role);
      },
    },
    {
      id: "status",
      label: t("people.state"),
      cell: ({ status }) => <Badge tone={TONES[status]}>{t(`people.${status}`)}</Badge>,
    },
    {
      id: "expires",
      label: t("people.expires"),
      cell: ({ expiresAt }) => <Time at={expiresAt} />,
      wide: true,
    },
    {
      id: "actions",
      label: t("people.actions"),
      align: "end",
      cell: (invitation) =>
        invitation.status !== "active" || !editable ? null : (
          <span class="actions">
            <Button size="small" icon="link" onClick={() => onLink(invitation)}>
              {t("people.showLink")}
            </Button>
            <Button size="small" icon="x" onClick={() => revoke(invitation)}>
              {t("people.revoke")}
            </Button>
          </span>
        ),
    },
  ];
}

export function Invitations(props: InvitationsProps) {
  const { place, keyOf } = props;
  const list = useLoad(`${keyOf}invitations`, (signal) => listInvitations(place, signal));
  const { error, run } = useAction();
  const revoke = async ({ token }: Invitation) => {
    await run(async () => {
      await revokeInvitation(place, token);
      say(t("people.revoked"));
    });
    await list.reload();
  };
  return (
    <>
      {error === undefined ? null : <ProblemBox error={error} />}
      <Shows of={list}>
        {(invitations) =>
          invitations.length === 0 ? (
            <Empty icon="mail" title={t("people.noInvitations")}>
              <p>{t("people.noInvitationsText")}</p>
            </Empty>
          ) : (
            <Table
              label={t("people.invitations")}
              rows={invitations}
              keyOf={({ token }) => token}
              columns={columnsOf(props, (invitation) => void revoke(invitation))}
            />
          )
        }
      </Shows>
    </>
  );
}
