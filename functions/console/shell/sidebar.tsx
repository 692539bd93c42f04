import type { ComponentChildren } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { type Caller, isPlatformAdmin, may } from "../api/caller.ts";
import { type ModuleModel, type ModuleType, type OrbModel, type SchemaModel, titleOf } from "../model/orb.ts";
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
        <span dir="auto">{children}</span>
      </Link>
    </li>
  );
}

/** The pages of an application before its content. */
const FIRST_PAGES: readonly string[] = ["/orbs/:orb", "/orbs/:orb/changes", "/orbs/:orb/media"];

const isOfOrb = ({ path }: Route) => path.startsWith("/orbs/:orb");

const ICON: Readonly<Record<ModuleType, IconName>> = {
  CONTENT: "fileText",
  CONFIG: "sliders",
  RULES: "scale",
  TRANSACTIONS: "receipt",
  SETTINGS: "toggle",
};

/** Applications with more schemas get a filter, and show only some of them at once. */
const MANY = 15;
/** Number of schemas that a group shows before the user asks for all of them. */
const FIRST = 10;

interface Group {
  id: string;
  title: string;
  items: readonly { module: ModuleModel; schema: SchemaModel }[];
}

/** Returns the schemas that the caller sees, by module. Modules with a single schema share one group. */
function groupsOf(orb: OrbModel, caller: Caller): Group[] {
  const modules = orb.modules
    .filter(({ type }) => isPlatformAdmin(caller) || type === "CONTENT" || type === "CONFIG")
    .map((module) => ({
      module,
      schemas: module.schemas.filter((schema) =>
        may(caller, "read", { module: module.id, schema: schema.id }, true),
      ),
    }));
  const itemsOf = ({ module, schemas }: (typeof modules)[number]) =>
    schemas.map((schema) => ({ module, schema }));
  const single = modules.filter(({ schemas }) => schemas.length === 1).flatMap(itemsOf);
  return [
    ...(single.length === 0 ? [] : [{ id: "", title: t("app.content"), items: single }]),
    ...modules
      .filter(({ schemas }) => schemas.length > 1)
      .map((one) => ({ id: one.module.id, title: titleOf(one.module), items: itemsOf(one) })),
  ];
}

/** Shows the schemas of a group: all of a small one, and else the first ones and the current one. */
function SchemaGroup({
  orb,
  group: { id, title, items },
  open,
  limited,
  onToggle,
}: {
  orb: string;
  group: Group;
  /** Whether the schemas are visible; undefined if the group cannot be closed. */
  open: boolean | undefined;
  limited: boolean;
  onToggle: () => void;
}) {
  const list = useId();
  const [path] = useLocation();
  const [all, setAll] = useState(false);
  const linkOf = ({ module, schema }: Group["items"][number]) =>
    orbLink(orb, "entries", module.id, schema.id);
  const isCurrent = (item: Group["items"][number]) =>
    path === linkOf(item) || path.startsWith(`${linkOf(item)}/`);
  const shown =
    limited && !all && items.length > FIRST + 2
      ? items.filter((item, at) => at < FIRST || isCurrent(item))
      : items;
  return (
    <div class="nav-group">
      <h3>
        {open === undefined ? (
          title
        ) : (
          <button type="button" aria-expanded={open} aria-controls={list} onClick={onToggle}>
            <Icon name={open ? "chevronDown" : "chevronRight"} size={14} />
            <span>{title}</span>
            <span class="hint">{items.length}</span>
          </button>
        )}
      </h3>
      {open === false ? null : (
        <ul id={list}>
          {shown.map((item) => (
            <Item key={`${id} ${linkOf(item)}`} to={linkOf(item)} icon={ICON[item.module.type]}>
              {titleOf(item.schema)}
            </Item>
          ))}
          {shown.length === items.length && !(all && limited) ? null : (
            <li>
              <button type="button" class="nav-more" aria-expanded={all} onClick={() => setAll(!all)}>
                {all ? t("app.showFewer") : t("app.showAll", { count: items.length })}
              </button>
            </li>
          )}
        </ul>
      )}
    </div>
  );
}

/** Lists the schemas of an application by module. If there are many, the user can filter them and close groups. */
function Content({ orb, caller }: { orb: OrbModel; caller: Caller }) {
  const [path] = useLocation();
  const [text, setText] = useState("");
  /** The groups that the user has opened or closed. */
  const [chosen, setChosen] = useState<Readonly<Record<string, boolean>>>({});
  const groups = useMemo(() => groupsOf(orb, caller), [orb, caller]);
  const many = groups.reduce((sum, { items }) => sum + items.length, 0) > MANY;
  const words = many ? text.trim().toLowerCase() : "";
  const matches = ({ schema }: Group["items"][number]) =>
    `${titleOf(schema)} ${schema.id}`.toLowerCase().includes(words);
  const found = groups
    .map((group) => (words === "" ? group : { ...group, items: group.items.filter(matches) }))
    .filter(({ items }) => items.length > 0);
  const holdsPage = ({ items }: Group) =>
    items.some(({ module, schema }) =>
      `${path}/`.startsWith(`${orbLink(orb.id, "entries", module.id, schema.id)}/`),
    );
  // Open the first groups, as long as all of them together stay short.
  let room = MANY;
  const isOpen = (group: Group): boolean | undefined => {
    const fits = room > 0;
    room -= Math.min(group.items.length, FIRST);
    if (!many) return undefined;
    return words !== "" || (chosen[group.id] ?? (fits || holdsPage(group)));
  };
  return (
    <>
      {many ? (
        <input
          type="search"
          class="nav-filter"
          aria-label={t("app.filterTypes")}
          placeholder={t("app.filterTypes")}
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      ) : null}
      {found.map((group) => {
        const open = isOpen(group);
        return (
          <SchemaGroup
            key={group.id}
            orb={orb.id}
            group={group}
            open={open}
            limited={many && words === ""}
            onToggle={() => setChosen({ ...chosen, [group.id]: open !== true })}
          />
        );
      })}
      {found.length === 0 && many ? <p class="hint">{t("palette.nothing")}</p> : null}
    </>
  );
}

/** The navigation for the platform and for the current application. */
export function Sidebar({
  routes,
  caller,
  orb,
  orbId,
  waiting,
}: {
  routes: readonly Route[];
  caller: Caller;
  orb: OrbModel | undefined;
  orbId: string | undefined;
  /** Whether the application is loading. What follows its content is shown afterwards, so that it does not move. */
  waiting: boolean;
}) {
  const shown = routes.filter(
    ({ nav, visible, fits }) =>
      nav !== undefined &&
      (visible?.(caller) ?? true) &&
      (fits === undefined || (orb !== undefined && fits(orb))),
  );
  const first = shown.filter(({ path }) => FIRST_PAGES.includes(path));
  const further = shown.filter((route) => isOfOrb(route) && !first.includes(route));
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
          <ul>{itemsOf(first)}</ul>
          {orb === undefined ? null : <Content key={orb.id} orb={orb} caller={caller} />}
          {further.length === 0 || waiting ? null : (
            <div class="nav-group">
              <h3>{t("app.manage")}</h3>
              <ul>{itemsOf(further)}</ul>
            </div>
          )}
        </section>
      )}
      {waiting ? null : (
        <section>
          <h2>{t("app.platform")}</h2>
          <ul>{itemsOf(shown.filter((route) => !isOfOrb(route)))}</ul>
        </section>
      )}
    </nav>
  );
}
