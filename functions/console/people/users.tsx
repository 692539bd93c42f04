import { isPlatformAdmin } from "../api/caller.ts";
import { grantable, usersOf } from "../api/people.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useCaller, useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { People } from "./people.tsx";
import { explainRole } from "./roles.ts";

const SHARED = "auth";

/** Lists the users of an application. If the application has no accounts of its own, lists the shared accounts. */
export default function Users({ params: { orb: id = "" } }: { params: PageParams }) {
  const caller = useCaller(id);
  const orb = useOrb(id);
  const account = caller.data?.account;
  const access = caller.data?.orb;
  const path = [{ label: orb.data === undefined ? id : titleOf(orb.data), to: orbLink(id) }];
  if (account === undefined || account === null || access === undefined) return null;
  if (access === null) {
    return (
      <Page title={t("people.users")} path={path}>
        <Empty icon="users" title={t("people.unpublished")}>
          <p>{t("people.unpublishedText")}</p>
          <LinkButton to={orbLink(id, "schema")}>{t("people.openSchema")}</LinkButton>
        </Empty>
      </Page>
    );
  }
  const own = access.realm !== SHARED;
  const roles = grantable(caller.data);
  return (
    <Shows of={orb}>
      {(document) => (
        <People
          key={access.realm}
          place={usersOf(access.realm)}
          title={t("people.users")}
          lead={t(own ? "people.usersLead" : "people.sharedLead")}
          path={path}
          page={`/console${orbLink(id)}`}
          roles={[
            ...roles.map((role) => ({ value: role, label: t(`people.role-${role}`) })),
            ...(own ? (document.roles ?? []) : [])
              .filter((role) => roles.includes(role.extends ?? "user"))
              .map((role) => ({ value: role.id, label: role.name })),
          ]}
          roleNames={[
            ...(["user", "admin", "owner"] as const).map((role) => ({
              value: role,
              label: t(`people.role-${role}`),
            })),
            ...(document.roles ?? []).map((role) => ({ value: role.id, label: role.name })),
          ]}
          explain={(role) => explainRole(document, role)}
          editable={access.users === "write"}
          services={isPlatformAdmin(caller.data)}
          tokensFor={own ? id : "*"}
          caller={account}
        />
      )}
    </Shows>
  );
}
