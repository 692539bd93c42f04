/** Lists invitations and recovery links that have not been used yet. */
import { useState } from "preact/hooks";
import { type Invitation, listInvitations, type PeoplePlace, revokeInvitation } from "../api/people.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { say } from "../ui/toast.tsx";

const TONES = { active: "good", used: "neutral", expired: "neutral", revoked: "warning" } as const;

export function Invitations({
  place,
  keyOf,
  roleName,
  editable,
  onLink,
}: {
  place: PeoplePlace;
  keyOf: string;
  roleName: (role: string) => string;
  editable: boolean;
  onLink: (invitation: Invitation) => void;
}) {
  const list = useLoad(`${keyOf}invitations`, (signal) => listInvitations(place, signal));
  const [error, setError] = useState<unknown>();
  const revoke = async ({ token }: Invitation) => {
    setError(undefined);
    try {
      await revokeInvitation(place, token);
      say(t("people.revoked"));
    } catch (reason) {
      setError(reason);
    }
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
              columns={[
                {
                  id: "purpose",
                  label: t("people.purpose"),
                  cell: ({ purpose, role }) =>
                    purpose === "recover"
                      ? t("people.recovery")
                      : place.platform
                        ? t("people.newAdmin")
                        : roleName(role),
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
                        <Button size="small" icon="x" onClick={() => void revoke(invitation)}>
                          {t("people.revoke")}
                        </Button>
                      </span>
                    ),
                },
              ]}
            />
          )
        }
      </Shows>
    </>
  );
}
