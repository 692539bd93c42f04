import type { ComponentChildren } from "preact";
import { useLocation } from "wouter-preact";
import { type Caller, isPlatformAdmin, may } from "../api/caller.ts";
import { type ModuleType, type OrbModel, type SchemaModel, titleOf } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { orbLink, type Route } from "./nav.ts";

function Item({
  to,
  icon,
  children,
  exact,
}: {
  to: string;
  icon?: IconName;
  children: ComponentChildren;
  exact?: boolean;
}) {
  const [path] = useLocation();
  const current = path === to || (exact !== true && path.startsWith(`${to}/`));
  return (
    <li>
      <Link to={to} class={current ? "current" : ""}>
        {icon === undefined ? null : <Icon name={icon} size={17} />}
        <span>{children}</span>
      </Link>
    </li>
  );
}

const isOfOrb = ({ path }: Route) => path.startsWith("/orbs/:orb");

const ICON: Readonly<Record<ModuleType, IconName>> = {
  CONTENT: "fileText",
  CONFIG: "sliders",
  RULES: "scale",
  TRANSACTIONS: "receipt",
  SETTINGS: "toggle",
};

function SchemaItem({
  orb,
  module,
  schema,
}: {
  orb: string;
  module: OrbModel["modules"][number];
  schema: SchemaModel;
}) {
  return (
    <Item to={orbLink(orb, "entries", module.id, schema.id)} icon={ICON[module.type]}>
      {titleOf(schema)}
    </Item>
  );
}

/** Lists the schemas of an application by module. */
function Content({ orb, caller }: { orb: OrbModel; caller: Caller }) {
  const modules = orb.modules
    .map((module) => ({
      module,
      schemas: module.schemas.filter((schema) => {
        const place = { module: module.id, schema: schema.id };
        if (!isPlatformAdmin(caller) && !["CONTENT", "CONFIG"].includes(module.type)) return false;
        return may(caller, "read", place, true);
      }),
    }))
    .filter(({ schemas }) => schemas.length > 0);
  // A module with only one schema gets no heading.
  const single = modules.filter(({ schemas }) => schemas.length === 1);
  const several = modules.filter(({ schemas }) => schemas.length > 1);
  return (
    <>
      {single.length === 0 ? null : (
        <div class="nav-group">
          <h3>{t("app.content")}</h3>
          <ul>
            {single.map(({ module, schemas: [schema] }) =>
              schema === undefined ? null : (
                <SchemaItem key={module.id} orb={orb.id} module={module} schema={schema} />
              ),
            )}
          </ul>
        </div>
      )}
      {several.map(({ module, schemas }) => (
        <div class="nav-group" key={module.id}>
          <h3>{titleOf(module)}</h3>
          <ul>
            {schemas.map((schema) => (
              <SchemaItem key={schema.id} orb={orb.id} module={module} schema={schema} />
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

/** The navigation for the platform and for the current application. */
export function Sidebar({
  routes,
  caller,
  orb,
  orbId,
}: {
  routes: readonly Route[];
  caller: Caller;
  orb: OrbModel | undefined;
  orbId: string | undefined;
}) {
  const shown = routes.filter(({ nav, visible }) => nav !== undefined && (visible?.(caller) ?? true));
  const overview = shown.filter(({ path }) => path === "/orbs/:orb");
  const further = shown.filter((route) => isOfOrb(route) && !overview.includes(route));
  const itemsOf = (some: readonly Route[]) =>
    some.map(({ path, nav }) =>
      nav === undefined ? null : (
        <Item
          key={path}
          to={path.replace(":orb", orbId ?? "")}
          icon={nav.icon}
          exact={path === "/" || path === "/orbs/:orb"}
        >
          {t(nav.label)}
        </Item>
      ),
    );
  return (
    <nav aria-label={t("app.navigation")}>
      {orbId === undefined ? null : (
        <section class="nav-orb">
          <h2>{orb === undefined ? orbId : titleOf(orb)}</h2>
          <ul>{itemsOf(overview)}</ul>
          {orb === undefined ? null : <Content orb={orb} caller={caller} />}
          {further.length === 0 ? null : (
            <div class="nav-group">
              <h3>{t("app.manage")}</h3>
              <ul>{itemsOf(further)}</ul>
            </div>
          )}
        </section>
      )}
      <section>
        <h2>{t("app.platform")}</h2>
        <ul>{itemsOf(shown.filter((route) => !isOfOrb(route)))}</ul>
      </section>
    </nav>
  );
}
