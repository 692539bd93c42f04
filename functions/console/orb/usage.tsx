/** What is asked of an application, what fails, which lists have no index, and how much is stored. */
import { type Usage as Counts, readUsage } from "../api/usage.ts";
import { causeOf, proposalLink } from "../entries/table/data/cause.ts";
import { fieldOf, isTemporal, NEWEST, opLabel } from "../entries/table/data/view.ts";
import type { FilterOp } from "../fields/parts/kind.ts";
import { sizeText } from "../files/size.ts";
import { labelOf, type OrbModel, type SchemaModel, titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { useLoad, useReloadOnShow } from "../state/load.ts";
import { formatNumber, t } from "../texts/t.ts";
import { CopyButton } from "../ui/button.tsx";
import { Link, LinkButton } from "../ui/link.tsx";
import { Shows } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

const HOURS = 168;
const HOUR_MS = 3_600_000;
/** Errors, and lists, that are shown. */
const SHOWN = 8;

type ErrorRow = Counts["errors"][number];
type ListRow = Counts["lists"][number];

/** A bar for each hour, the oldest first. */
function Bars({ usage }: { usage: Counts }) {
  const begin = Date.parse(usage.since);
  const most = Math.max(1, ...usage.hours.map(({ requests }) => requests));
  const bars = Array.from({ length: HOURS }, (_, at) => ({ at, requests: 0, failed: 0 }));
  for (const { at, requests, failed } of usage.hours) {
    const bar = bars[Math.round((Date.parse(at) - begin) / HOUR_MS)];
    if (bar !== undefined) Object.assign(bar, { requests, failed });
  }
  return (
    <div class="usage-bars" role="img" aria-label={t("orb.usageBars", { count: most })}>
      {bars.map(({ at, requests, failed }) => (
        <span key={at} class="usage-bar" style={{ height: `${(100 * requests) / most}%` }}>
          {failed === 0 ? null : (
            <i class="usage-failed" style={{ height: `${(100 * failed) / requests}%` }} />
          )}
        </span>
      ))}
    </div>
  );
}

function Errors({ rows }: { rows: readonly ErrorRow[] }) {
  if (rows.length === 0) return <p class="hint">{t("orb.noErrors")}</p>;
  return (
    <Table<ErrorRow>
      label={t("orb.errors")}
      rows={rows.slice(0, SHOWN)}
      keyOf={({ status, code, method, route }) => `${status} ${code} ${method} ${route}`}
      columns={[
        {
          id: "code",
          label: t("orb.errorCode"),
          cell: ({ status, code }) => (
            <code dir="ltr">
              {status} {code}
            </code>
          ),
        },
        {
          id: "route",
          label: t("orb.errorRoute"),
          cell: ({ method, route }) => (
            <code dir="ltr">
              {method} {route}
            </code>
          ),
        },
        { id: "count", label: t("orb.errorCount"), align: "end", cell: ({ count }) => formatNumber(count) },
        { id: "at", label: t("orb.errorAt"), cell: ({ at }) => <Time at={at} /> },
        {
          id: "request",
          label: t("orb.errorRequest"),
          cell: ({ requestId, code }) => (
            <CopyButton text={requestId} label={t("orb.copyRequest", { code })} />
          ),
        },
      ]}
    />
  );
}

/** Returns a list's conditions and order in words. */
function wordsOf({ conditions, sort }: ListRow, schema: SchemaModel): string {
  const parts = conditions.map(({ field: name, operator }) => {
    const field = fieldOf(schema, name);
    const label = field === undefined ? name : labelOf(field);
    if (operator === "search") return t("orb.listSearch", { field: label });
    return `${label} ${opLabel(operator as FilterOp, field !== undefined && isTemporal(field))}`;
  });
  const sorts = sort.map((name) => {
    const field = fieldOf(schema, name.replace(/^-/, ""));
    return t("orb.listSort", { field: field === undefined ? name : labelOf(field) });
  });
  return [...parts, ...sorts].join(", ");
}

function SlowList({ orb, row }: { orb: OrbModel; row: ListRow }) {
  const { module, schema: id, conditions, sort, count, read } = row;
  const schema = orb.modules.find((one) => one.id === module)?.schemas.find((one) => one.id === id);
  // The schema may have been removed since.
  if (schema === undefined) return null;
  const filters = conditions.map(({ field, operator }) => ({
    ...{ name: field, op: operator as FilterOp, value: "" },
  }));
  const found = causeOf(schema, { filters, sort: sort[0] ?? NEWEST, status: undefined })?.field;
  const link = found && proposalLink(orb, { module, schema: id }, found);
  return (
    <li>
      <span>
        <Link to={orbLink(orb.id, "entries", module, id)}>
          <bdi>{titleOf(schema)}</bdi>
        </Link>
        : <bdi>{wordsOf(row, schema)}</bdi> <span class="hint">{t("orb.listRead", { count, read })}</span>
      </span>
      {link === undefined || found === undefined ? null : (
        <LinkButton to={link} icon="zap" small>
          {t(found.remedy === "search" ? "table.addSearch" : "table.addIndex", {
            field: labelOf(found.field),
          })}
        </LinkButton>
      )}
    </li>
  );
}

function storedText({ entries, revisions, bytes, fileBytes, bytesLimit, fileBytesLimit }: Counts["storage"]) {
  const of = (used: number, limit: number | null) =>
    limit === null ? sizeText(used) : t("orb.storedOf", { size: sizeText(used), limit: sizeText(limit) });
  return t("orb.stored", {
    ...{ entries, revisions, size: of(bytes, bytesLimit), files: of(fileBytes, fileBytesLimit) },
  });
}

/** Loads the requests of the last seven days. @param orb undefined loads nothing */
const useUsage = (orb: OrbModel | undefined) =>
  useLoad(orb === undefined ? null : `orbs/${orb.id}/usage`, (signal) =>
    readUsage(orb?.id ?? "", HOURS, signal),
  );

/** Returns whether {@link Usage} has its height, so that what is below it does not move any more. */
export function useSettledUsage(orb: OrbModel | undefined): boolean {
  const { data, error } = useUsage(orb);
  return orb === undefined || data !== undefined || error !== undefined;
}

/** Shows platform admins the requests to an application in the last seven days. */
export function Usage({ orb }: { orb: OrbModel }) {
  const usage = useUsage(orb);
  useReloadOnShow(usage);
  return (
    <section class="card usage" aria-labelledby="usage">
      <h2 id="usage">{t("orb.usage")}</h2>
      <Shows of={usage}>
        {(shown) => (
          <>
            <p>{t("orb.usageRequests", { count: shown.requests, failed: shown.failed })}</p>
            <Bars usage={shown} />
            <p class="hint">{storedText(shown.storage)}</p>
            <h3>{t("orb.errors")}</h3>
            <Errors rows={shown.errors} />
            <h3>{t("orb.slowLists")}</h3>
            {shown.lists.length === 0 ? (
              <p class="hint">{t("orb.noSlowLists")}</p>
            ) : (
              <ul class="usage-lists">
                {shown.lists.slice(0, SHOWN).map((row) => (
                  <SlowList
                    key={JSON.stringify([row.module, row.schema, row.conditions, row.sort])}
                    {...{ orb, row }}
                  />
                ))}
              </ul>
            )}
          </>
        )}
      </Shows>
    </section>
  );
}
