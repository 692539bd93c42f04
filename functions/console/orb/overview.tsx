import { isPlatformAdmin, may } from "../api/caller.ts";
import { countVisible } from "../api/entries.ts";
import type { OrbDocument } from "../api/orbs.ts";
import { countEntries } from "../api/platform.ts";
import { type ModuleModel, type OrbModel, type SchemaModel, titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { useCaller, useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { StateBadge } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { Link, LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { OrbActions } from "./actions.tsx";
import { Changes } from "./changes.tsx";
import { Glance } from "./glance.tsx";
import { Steps } from "./steps.tsx";
import { Usage } from "./usage.tsx";

/** Shows a schema of the application. Platform admins also see how many entries it has. */
function SchemaRow({ orb, module, schema }: { orb: string; module: ModuleModel; schema: SchemaModel }) {
  const caller = useCaller(orb).data;
  const admin = isPlatformAdmin(caller);
  const place = { module: module.id, schema: schema.id };
  const routed = module.type === "CONTENT" || module.type === "CONFIG";
  const { data } = useLoad(
    admin || routed ? `orbs/${orb}/count/${module.id}/${schema.id}` : null,
    (signal) =>
      admin
        ? countEntries(orb, { ...place, signal })
        : countVisible({ orb, ...place, managed: false }, may(caller, "update", place), signal),
  );
  return (
    <li>
      <Link to={orbLink(orb, "entries", module.id, schema.id)}>{titleOf(schema)}</Link>
      <span class="row-end">
        <span class="hint number">{data === undefined ? "" : t("orb.entries", { count: data })}</span>
        {routed && may(caller, "create", place) ? (
          <Link
            to={orbLink(orb, "entries", module.id, schema.id, "new")}
            class="button quiet square small"
            title={`${t("orb.added")}: ${titleOf(schema)}`}
          >
            <Icon name="plus" />
            <span class="sr-only">{`${t("orb.added")}: ${titleOf(schema)}`}</span>
          </Link>
        ) : null}
      </span>
    </li>
  );
}

function Modules({ orb }: { orb: OrbModel }) {
  const caller = useCaller(orb.id).data;
  const shown = orb.modules
    .map((module) => ({
      module,
      schemas: module.schemas.filter((schema) =>
        may(caller, "read", { module: module.id, schema: schema.id }, true),
      ),
    }))
    .filter(({ schemas }) => schemas.length > 0);
  if (shown.length === 0)
    return (
      <Empty icon="layers" title={t("orb.nothing")}>
        <p>{t("orb.nothingText")}</p>
        {isPlatformAdmin(caller) ? (
          <LinkButton to={orbLink(orb.id, "schema")} icon="plus" kind="primary">
            {t("orb.schema")}
          </LinkButton>
        ) : null}
      </Empty>
    );
  return (
    <div class="cards">
      {shown.map(({ module, schemas }) => (
        <section class="card" key={module.id}>
          <h2>{titleOf(module)}</h2>
          <ul class="rows">
            {schemas.map((schema) => (
              <SchemaRow key={schema.id} orb={orb.id} module={module} schema={schema} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

const isManaged = (orb: OrbModel & Partial<OrbDocument>): orb is OrbDocument => orb.status !== undefined;

/** The overview of an application: its schemas, its state and the next steps. */
export default function Overview({ params: { orb: id = "" } }: { params: PageParams }) {
  const orb = useOrb(id);
  const { data } = orb;
  const managed = data !== undefined && isManaged(data);
  const entries = useLoad(managed ? `orbs/${id}/count` : null, (signal) => countEntries(id, { signal }));
  return (
    <Page
      title={data === undefined ? id : titleOf(data)}
      path={[{ label: t("home.orbs"), to: "/" }]}
      lead={
        <>
          {managed ? (
            <p class="badges">
              <StateBadge of={data} />
            </p>
          ) : null}
          {data?.description}
        </>
      }
      actions={managed ? <OrbActions orb={data} /> : undefined}
    >
      <Shows of={orb}>
        {(shown) => (
          <>
            {managed ? <Steps orb={shown} entries={entries} /> : null}
            <Modules orb={shown} />
            {managed && shown.publishedRevision != null ? <Glance orb={shown} /> : null}
            {managed && shown.publishedRevision != null ? <Usage orb={shown} /> : null}
            {managed ? <Changes orb={shown} hasUsage={shown.publishedRevision != null} /> : null}
          </>
        )}
      </Shows>
    </Page>
  );
}
