import { isPlatformAdmin, may } from "../api/caller.ts";
import { listRevisions, type OrbDocument } from "../api/orbs.ts";
import { countEntries } from "../api/platform.ts";
import { type ModuleModel, type OrbModel, type SchemaModel, titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { useCaller, useOrb } from "../state/session.ts";
import { formatNumber, t } from "../texts/t.ts";
import { StateBadge } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { Link, LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { OrbActions } from "./actions.tsx";
import { Steps } from "./steps.tsx";

/** Shows a schema of the application. Platform admins also see how many entries it has. */
function SchemaRow({ orb, module, schema }: { orb: string; module: ModuleModel; schema: SchemaModel }) {
  const caller = useCaller(orb).data;
  const admin = isPlatformAdmin(caller);
  const place = { module: module.id, schema: schema.id };
  const { data } = useLoad(admin ? `orbs/${orb}/count/${module.id}/${schema.id}` : null, (signal) =>
    countEntries(orb, { ...place, signal }),
  );
  const routed = module.type === "CONTENT" || module.type === "CONFIG";
  return (
    <li>
      <Link to={orbLink(orb, "entries", module.id, schema.id)}>{titleOf(schema)}</Link>
      <span class="row-end">
        <span class="hint number">
          {data === undefined ? t("orb.fields", { count: schema.fields.length }) : formatNumber(data)}
        </span>
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

/** Describes the newest revisions of the application's document in words. */
function Changes({ orb }: { orb: string }) {
  const { data } = useLoad(`orbs/${orb}/revisions/newest`, (signal) =>
    listRevisions(orb, { signal, query: { limit: 5, sort: "-revision" } }),
  );
  if (data === undefined) return null;
  return (
    <section class="orb-changes" aria-labelledby="changes">
      <h2 id="changes">{t("orb.changes")}</h2>
      <ol>
        {data.items.map(({ revision, operation, at, summary }) => (
          <li key={revision}>
            <span class="hint">{t("orb.revision", { number: revision })}</span>
            <span class="words">{summary.length === 0 ? operation : summary.join("; ")}</span>
            <Time at={at} />
          </li>
        ))}
      </ol>
    </section>
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
            {managed ? <Steps orb={shown} entries={entries.data} /> : null}
            <Modules orb={shown} />
            {managed ? <Changes orb={id} /> : null}
          </>
        )}
      </Shows>
    </Page>
  );
}
