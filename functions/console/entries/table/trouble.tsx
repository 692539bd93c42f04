/** Shown instead of an empty table if no entry exists, no entry matches, or the platform rejected the query. */
import { isProblem } from "../../../../shared/client/problem.ts";
import { orbLink } from "../../shell/nav.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { ProblemBox } from "../../ui/problem.tsx";
import { Empty } from "../../ui/states.tsx";
import type { Rights } from "./bulk/bulk.ts";
import { NEWEST, type View } from "./data/view.ts";

export function Nothing({
  filtered,
  rights,
  orb,
  base,
  clear,
}: {
  filtered: boolean;
  rights: Rights;
  /** Id of the application. */
  orb: string;
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
      {rights.fixed ? (
        <>
          <p>{t("table.noneFixed")}</p>
          <LinkButton to={orbLink(orb, "handlers")} icon="zap">
            {t("table.toHandlers")}
          </LinkButton>
        </>
      ) : rights.create ? (
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
  view,
  change,
  retry,
}: {
  error: unknown;
  view: View;
  change: (part: Partial<View>) => void;
  retry: () => void;
}) {
  const asked = isProblem(error) && error.status >= 400 && error.status < 500;
  return (
    <ProblemBox error={error} retry={retry}>
      {asked && (view.filters.length > 0 || view.search !== undefined || view.sort !== NEWEST) ? (
        <Button
          onClick={() =>
            change({ filters: [], search: undefined, sort: NEWEST, status: undefined, unused: false })
          }
        >
          {t("table.clearFilters")}
        </Button>
      ) : null}
    </ProblemBox>
  );
}
