/** A page that lists accounts and invitations, with the dialogs that change them. */
import { useEffect, useState } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { Tokens } from "../accounts/tokens.tsx";
import type { Account } from "../api/caller.ts";
import { findPerson, type Invitation, listTokens, type PeoplePlace, type Person } from "../api/people.ts";
import { CodeButton } from "../code/sample.tsx";
import type { Sample } from "../model/code.ts";
import { refresh } from "../state/cache.ts";
import { useCommands } from "../state/commands.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import type { Option } from "../ui/form.tsx";
import { type Crumb, Page } from "../ui/page.tsx";
import { Shows } from "../ui/states.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Accounts } from "./accounts.tsx";
import { Invitations } from "./invitations.tsx";
import { InviteDialog, ServiceDialog } from "./invite.tsx";
import { LinkDialog } from "./link.tsx";
import { PersonDialog } from "./person.tsx";

/** The API tokens of a service account. */
function TokensDialog({
  place,
  person,
  orb,
  onClose,
}: {
  place: PeoplePlace;
  person: Person;
  /** The application that new tokens are valid for; `*` for all applications. */
  orb: string;
  onClose: () => void;
}) {
  const owner = { base: place.base, account: person.id };
  const tokens = useLoad(`tokens/${person.id}`, (signal) => listTokens(owner, signal));
  return (
    <Dialog title={t("people.tokensOf", { name: person.name })} onClose={onClose} wide>
      <Shows of={tokens}>{() => <Tokens owner={owner} tokens={tokens} orb={orb} />}</Shows>
    </Dialog>
  );
}

/** Milliseconds of a year. */
const YEAR = 31_536_000_000;

/**
 * Returns sample requests. Each request's name is a key in the console's texts.
 * @param application the application that a token is valid for; `*` for all applications
 */
function peopleSamples({ base, platform }: PeoplePlace, orb: string) {
  const url = location.origin + base;
  const accounts = `${url}/${platform ? "admins" : "users"}`;
  const role = platform ? {} : { role: "user" };
  const expiresAt = new Date(Date.now() + YEAR).toISOString();
  const token = { account: "ACCOUNT_ID", name: "importer", expiresAt, scopes: [{ orb, can: ["read"] }] };
  const samples: {
    name: "listPeople" | "invite" | "changeRole" | "service" | "createToken";
    sample: Sample;
  }[] = [
    { name: "listPeople", sample: { method: "GET", url: accounts } },
    {
      name: "invite",
      sample: { method: "POST", url: `${url}/invitations`, ...(platform ? {} : { body: role }) },
    },
    {
      name: "service",
      sample: { method: "POST", url: accounts, body: { name: "importer", service: true, ...role } },
    },
    { name: "createToken", sample: { method: "POST", url: `${url}/tokens`, body: token } },
  ];
  if (!platform)
    samples.push({
      name: "changeRole",
      sample: { method: "PUT", url: `${accounts}/ACCOUNT_ID`, body: { role: "admin" } },
    });
  return samples;
}

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
  /** The names of all roles. */
  roleNames?: readonly Option[];
  /** Says what people with a role can do. */
  explain?: (role: string) => string;
  editable: boolean;
  /** Whether the caller may create service accounts. */
  services: boolean;
  /** The application that tokens of new service accounts are valid for; `*` for all applications. */
  tokensFor: string;
  caller: Account;
}

const keyPrefix = ({ base }: PeoplePlace) => `people${base}/`;

/** Opens the dialog of the person whom a link names, such as that of the search. */
function useLinkedPerson(place: PeoplePlace, open: (person: Person) => void): { forget: () => void } {
  const [search, setSearch] = useSearchParams();
  const wanted = search.get("person");
  const { data: linked } = useLoad(wanted === null ? null : `${keyPrefix(place)}one/${wanted}`, (signal) =>
    findPerson(place, wanted ?? "", signal),
  );
  useEffect(() => {
    if (linked !== undefined && linked !== null) open(linked);
  }, [linked]);
  return {
    forget: () => {
      if (wanted !== null) setSearch(new URLSearchParams(), { replace: true });
    },
  };
}

/** The buttons of the page. */
function PeopleActions({
  place,
  editable,
  services,
  tokensFor,
  onShow,
}: PeopleProps & { onShow: (shown: Shown) => void }) {
  const samples = () =>
    peopleSamples(place, tokensFor)
      .filter(({ name }) => name === "listPeople" || (editable && (services || name !== "service")))
      .map(({ name, sample }) => ({ name: t(`people.${name}`), sample }));
  return (
    <>
      <CodeButton samples={samples} />
      {services ? (
        <Button icon="keyRound" onClick={() => onShow({ what: "service" })}>
          {t("people.service")}
        </Button>
      ) : null}
      {editable ? (
        <Button kind="primary" icon="plus" onClick={() => onShow({ what: "invite" })}>
          {t("people.invite")}
        </Button>
      ) : null}
    </>
  );
}

/** The dialog that is open. */
function PeopleDialog({
  shown,
  roleName,
  onShow,
  onInvited,
  onClose,
  ...props
}: PeopleProps & {
  shown: Shown;
  roleName: (role: string) => string;
  /** Opens another dialog instead, or none. */
  onShow: (shown: Shown | undefined) => void;
  /** Called after an invitation was created. */
  onInvited: () => void;
  /** Closes the dialog, and loads the lists again. */
  onClose: () => void;
}) {
  const { place, page, roles, explain = () => "", editable, tokensFor, caller } = props;
  const common = { place, roles, explain };
  switch (shown.what) {
    case "invite":
      return <InviteDialog {...common} page={page} onClose={onClose} onDone={onInvited} />;
    case "service":
      return (
        <ServiceDialog
          {...common}
          onClose={onClose}
          onMade={(person) => {
            refresh(keyPrefix(place));
            onShow({ what: "tokens", person });
          }}
        />
      );
    case "link": {
      const recovers = shown.link.purpose === "recover";
      return (
        <LinkDialog
          title={t(recovers ? "people.recovery" : "people.invitation")}
          text={t(recovers ? "people.recoveryText" : "people.invitedText")}
          url={shown.link.url}
          onClose={onClose}
        />
      );
    }
    case "person":
      return (
        <PersonDialog
          {...common}
          person={shown.person}
          roleName={roleName}
          editable={editable}
          own={caller.id === shown.person.id}
          onChange={onClose}
          onLink={(link) => onShow({ what: "link", link })}
          onTokens={() => onShow({ what: "tokens", person: shown.person })}
          onClose={() => onShow(undefined)}
        />
      );
    default:
      return <TokensDialog place={place} person={shown.person} orb={tokensFor} onClose={onClose} />;
  }
}

export function People(props: PeopleProps) {
  const { place, title, lead, path = [], roles, roleNames = roles, editable } = props;
  const [tab, setTab] = useState<"accounts" | "invitations">("accounts");
  const [shown, setShown] = useState<Shown>();
  const linked = useLinkedPerson(place, (person) => setShown({ what: "person", person }));
  const close = () => {
    setShown(undefined);
    linked.forget();
    refresh(keyPrefix(place));
  };
  const roleName = (role: string) =>
    roleNames.find(({ value }) => value === role)?.label ?? t("people.roleGone", { role });
  const invite = () => setShown({ what: "invite" });
  useCommands(
    () =>
      editable
        ? [{ id: "people.invite", title: t("people.invite"), group: title, key: "n", run: invite }]
        : [],
    [editable, title],
  );
  const list = { place, keyOf: keyPrefix(place), roleName };
  return (
    <Page title={title} lead={lead} path={path} actions={<PeopleActions {...props} onShow={setShown} />}>
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
          <Accounts {...list} onOpen={(person) => setShown({ what: "person", person })} />
        ) : (
          <Invitations {...list} editable={editable} onLink={(link) => setShown({ what: "link", link })} />
        )}
      </Tabs>
      {shown === undefined ? null : (
        <PeopleDialog
          {...props}
          shown={shown}
          roleName={roleName}
          onShow={setShown}
          onInvited={() => {
            setTab("invitations");
            close();
          }}
          onClose={close}
        />
      )}
    </Page>
  );
}
