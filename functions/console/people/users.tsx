import { isPlatformAdmin } from "../api/caller.ts";
import { grantable, usersOf } from "../api/people.ts";
import { type OrbModel, type SchemaModel, titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useCaller, useOrb } from "../state/session.ts";
import { listOfAll, t } from "../texts/t.ts";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { People } from "./people.tsx";

const ACTIONS = ["create", "update", "publish", "delete"] as const;

/** Access rules of a schema in a document. Only platform admins receive documents. */
interface Ruled extends SchemaModel {
  access?: Readonly<Partial<Record<(typeof ACTIONS)[number] | "read", string | readonly string[]>>>;
}

/** Returns what the access rules of the schemas grant to a role by name, such as `Story: create, change`. */
function grantsOf({ modules }: OrbModel, role: string): string[] {
  return modules.flatMap(({ schemas }) =>
    schemas.flatMap((schema: Ruled) => {
      const actions = ACTIONS.filter((action) => schema.access?.[action]?.includes(role) === true);
      if (actions.length === 0) return [];
      return [`${titleOf(schema)}: ${listOfAll(actions.map((action) => t(`people.act-${action}`)))}`];
    }),
  );
}

/** Says in words what people with a role can do in an application. */
function explainRole(orb: OrbModel, role: string): string {
  if (role === "user" || role === "admin" || role === "owner") return t(`people.about-${role}`);
  const found = orb.roles?.find(({ id }) => id === role);
  if (found === undefined) return t("people.about-gone");
  const as = t(found.extends === "admin" ? "people.about-likeAdmin" : "people.about-likeUser");
  const grants = grantsOf(orb, role);
  return grants.length === 0 ? as : `${as} ${t("people.about-also", { grants: grants.join("; ") })}`;
}

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
