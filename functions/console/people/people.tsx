/** A page that lists accounts and invitations, with the dialogs that change them. */
import { useState } from "preact/hooks";
import type { Account } from "../api/caller.ts";
import type { Invitation, PeoplePlace, Person } from "../api/people.ts";
import { refresh } from "../state/cache.ts";
import { useCommands } from "../state/commands.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { CodeButton } from "../ui/code.tsx";
import type { Option } from "../ui/form.tsx";
import { type Crumb, Page } from "../ui/page.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Accounts } from "./accounts.tsx";
import { Invitations } from "./invitations.tsx";
import { InviteDialog, ServiceDialog } from "./invite.tsx";
import { LinkDialog } from "./link.tsx";
import { PersonDialog } from "./person.tsx";
import { peopleSamples } from "./samples.ts";
import { TokensDialog } from "./tokens.tsx";

type Shown =
  | { what: "invite" | "service" }
  | { what: "person" | "tokens"; person: Person }
  | { what: "link"; link: Invitation };

export interface PeopleProps {
  place: PeoplePlace;
  title: string;
  lead: string;
  path?: readonly Crumb[];
  /** Name of the console page that an invited user sees first. */
  page: string;
  /** The roles that the caller may grant. */
  roles: readonly Option[];
  editable: boolean;
  /** Whether the caller may create service accounts. */
  services: boolean;
  /** The application that tokens of new service accounts are valid for; `*` for all applications. */
  tokensFor: string;
  caller: Account;
}

export function People(props: PeopleProps) {
  const { place, title, lead, path = [], page, roles, editable, services, tokensFor, caller } = props;
  const [tab, setTab] = useState<"accounts" | "invitations">("accounts");
  const [shown, setShown] = useState<Shown>();
  const keyOf = `people${place.base}/`;
  const close = () => {
    setShown(undefined);
    refresh(keyOf);
  };
  const roleName = (role: string) => roles.find(({ value }) => value === role)?.label ?? role;
  useCommands(
    () =>
      editable
        ? [
            {
              id: "people.invite",
              title: t("people.invite"),
              group: title,
              key: "n",
              run: () => setShown({ what: "invite" }),
            },
          ]
        : [],
    [editable, title],
  );
  return (
    <Page
      title={title}
      lead={lead}
      path={path}
      actions={
        <>
          <CodeButton
            samples={() =>
              peopleSamples(place, tokensFor)
                .filter(({ name }) => name === "listPeople" || (editable && (services || name !== "service")))
                .map(({ name, sample }) => ({ name: t(`people.${name}`), sample }))
            }
          />
          {services ? (
            <Button icon="keyRound" onClick={() => setShown({ what: "service" })}>
              {t("people.service")}
            </Button>
          ) : null}
          {editable ? (
            <Button kind="primary" icon="plus" onClick={() => setShown({ what: "invite" })}>
              {t("people.invite")}
            </Button>
          ) : null}
        </>
      }
    >
      <Tabs
        label={title}
        tabs={[
          { id: "accounts", label: t("people.accounts") },
          { id: "invitations", label: t("people.invitations") },
        ]}
        current={tab}
        onChange={setTab}
      >
        {tab === "accounts" ? (
          <Accounts
            place={place}
            keyOf={keyOf}
            roleName={roleName}
            onOpen={(person) => setShown({ what: "person", person })}
          />
        ) : (
          <Invitations
            place={place}
            keyOf={keyOf}
            roleName={roleName}
            editable={editable}
            onLink={(link) => setShown({ what: "link", link })}
          />
        )}
      </Tabs>
      {shown?.what === "invite" ? (
        <InviteDialog
          place={place}
          roles={roles}
          page={page}
          onClose={close}
          onDone={() => {
            setTab("invitations");
            close();
          }}
        />
      ) : null}
      {shown?.what === "service" ? (
        <ServiceDialog
          place={place}
          roles={roles}
          onClose={close}
          onMade={(person) => {
            refresh(keyOf);
            setShown({ what: "tokens", person });
          }}
        />
      ) : null}
      {shown?.what === "link" ? (
        <LinkDialog
          title={t(shown.link.purpose === "recover" ? "people.recovery" : "people.invitation")}
          text={t(shown.link.purpose === "recover" ? "people.recoveryText" : "people.invitedText")}
          url={shown.link.url}
          onClose={close}
        />
      ) : null}
      {shown?.what === "person" ? (
        <PersonDialog
          place={place}
          person={shown.person}
          roles={roles}
          editable={editable}
          own={caller.id === shown.person.id}
          onChange={close}
          onLink={(link) => setShown({ what: "link", link })}
          onTokens={() => setShown({ what: "tokens", person: shown.person })}
          onClose={() => setShown(undefined)}
        />
      ) : null}
      {shown?.what === "tokens" ? (
        <TokensDialog place={place} person={shown.person} orb={tokensFor} onClose={close} />
      ) : null}
    </Page>
  );
}
