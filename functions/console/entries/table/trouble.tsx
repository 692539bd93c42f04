/** Shown instead of an empty table: no entry exists, no entry matches, or the platform rejected the query. */
import { isProblem } from "../../../../shared/client/problem.ts";
import { labelOf, type SchemaModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { ProblemBox } from "../../ui/problem.tsx";
import { Empty } from "../../ui/states.tsx";
import { fieldOf, NEWEST, type View } from "./data/view.ts";

export function Nothing({
  filtered,
  create,
  base,
  clear,
}: {
  filtered: boolean;
  create: boolean;
  base: string;
  clear: () => void;
}) {
  if (filtered)
    return (
      <Empty icon="search" title={t("table.noMatch")}>
        <p>{t("table.noMatchText")}</p>
        <Button onClick={clear}>{t("table.clearFilters")}</Button>
      </Empty>
    );
  return (
    <Empty icon="fileText" title={t("table.none")}>
      {create ? (
        <>
          <p>{t("table.noneText")}</p>
          <LinkButton to={`${base}/new`} icon="plus" kind="primary">
            {t("table.createFirst")}
          </LinkButton>
        </>
      ) : (
        <p>{t("table.noneReadOnly")}</p>
      )}
    </Empty>
  );
}

/** Explains why the list could not be read, and how to continue. */
export function Trouble({
  error,
  schema,
  view,
  change,
  retry,
}: {
  error: unknown;
  schema: SchemaModel;
  view: View;
  change: (part: Partial<View>) => void;
  retry: () => void;
}) {
  if (isProblem(error, "too_broad")) {
    const { indexed } = error.body;
    const quick = (Array.isArray(indexed) ? (indexed as unknown[]) : [])
      .map((name) => fieldOf(schema, String(name)))
      .filter((field) => field !== undefined)
      .map(labelOf);
    return (
      <div class="problem" role="alert">
        <div>
          <p>{t("table.tooBroad")}</p>
          <p class="hint">{t("table.tooBroadText", { fields: quick.join(", ") })}</p>
          {view.sort === NEWEST ? null : (
            <Button onClick={() => change({ sort: NEWEST })}>{t("table.sortNewest")}</Button>
          )}
          {view.filters.length === 0 && view.status === undefined ? null : (
            <Button onClick={() => change({ filters: [], search: undefined, status: undefined })}>
              {t("table.clearFilters")}
            </Button>
          )}
        </div>
      </div>
    );
  }
  const asked = isProblem(error) && error.status >= 400 && error.status < 500;
  return (
    <ProblemBox error={error} retry={retry}>
      {asked && (view.filters.length > 0 || view.search !== undefined || view.sort !== NEWEST) ? (
        <Button onClick={() => change({ filters: [], search: undefined, sort: NEWEST, status: undefined })}>
          {t("table.clearFilters")}
        </Button>
      ) : null}
    </ProblemBox>
  );
}
