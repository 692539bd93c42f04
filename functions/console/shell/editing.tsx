/** Says in which change set the user edits, and lets the user leave it. */
import { useLocation, useSearch } from "wouter-preact";
import { type Caller, isPlatformAdmin } from "../api/caller.ts";
import { isActive, readChange } from "../api/changes.ts";
import { changeIn, setsKey } from "../state/change.ts";
import { useLoad, useReloadOnShow } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Link } from "../ui/link.tsx";
import { orbLink } from "./nav.ts";

function Bar({ caller, orb, id }: { caller: Caller; orb: string; id: string }) {
  const [path, go] = useLocation();
  const search = useSearch();
  const place = { orb, managed: isPlatformAdmin(caller) };
  const loaded = useLoad(setsKey(orb, id, "set"), (signal) => readChange(place, id, signal));
  const { data, error } = loaded;
  useReloadOnShow(loaded);
  const leave = () => {
    const query = new URLSearchParams(search);
    query.set("change", "");
    go(`${path}?${query}`);
  };
  return (
    <section class="editing" aria-label={t("changes.set")}>
      <p role="status">
        <span class="editing-words">{t("changes.editing")}</span>{" "}
        <Link to={orbLink(orb, "changes", id)} class="editing-title">
          <bdi>{data?.title ?? (error === undefined ? "…" : id)}</bdi>
        </Link>
        {data === undefined || data.state === "OPEN" ? null : (
          <Badge tone={isActive(data) ? "info" : "warning"}>{t(`changes.state-${data.state}`)}</Badge>
        )}
        {error === undefined || data !== undefined ? null : <Badge tone="bad">{t("changes.notFound")}</Badge>}
      </p>
      <Button size="small" title={t("changes.leaveHint")} onClick={leave}>
        {t("changes.leave")}
      </Button>
    </section>
  );
}

export function EditingBar({ caller, orb }: { caller: Caller; orb: string | undefined }) {
  const id = changeIn(orb);
  return id === undefined || orb === undefined ? null : <Bar key={id} {...{ caller, orb, id }} />;
}
