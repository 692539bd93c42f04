/**
 * Shows sample code for requests to an application's API. Other pages link here and pass on the filters of the list
 * that they show.
 */
import { useSearchParams } from "wouter-preact";
import { discoverOrb } from "../api/orbs.ts";
import { codeOf } from "../model/code.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { SelectField } from "../ui/form.tsx";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { OPERATIONS, type Operation, sampleOf } from "./request.ts";
import { Code } from "./sample.tsx";

const isOperation = (text: string | null): text is Operation => OPERATIONS.some((one) => one === text);

export default function Api({ params: { orb: id = "" } }: { params: PageParams }) {
  const found = useLoad(`discovery/${id}`, async (signal) => ({ orb: await discoverOrb(id, signal) }));
  const [given, setGiven] = useSearchParams();
  const title = found.data?.orb === undefined ? id : titleOf(found.data.orb);
  const set = (name: string, value: string) =>
    setGiven(
      (old) => {
        const next = new URLSearchParams(old);
        next.set(name, value);
        if (name === "schema") {
          next.delete("query");
          next.delete("entry");
        }
        return next;
      },
      { replace: true },
    );
  return (
    <Page title={t("api.title")} lead={t("api.lead")} path={[{ label: title, to: orbLink(id) }]}>
      <Shows of={found}>
        {({ orb }) => {
          const schemas = (orb?.modules ?? []).flatMap((module) =>
            module.schemas.map((schema) => ({ key: `${module.id}/${schema.id}`, module, schema })),
          );
          const routed = schemas.filter(({ schema }) => typeof schema.href === "string");
          const chosen = routed.find(({ key }) => key === given.get("schema")) ?? routed[0];
          const href = chosen?.schema.href;
          if (orb === undefined || chosen === undefined || typeof href !== "string") {
            return (
              <Empty icon="code" title={t(orb === undefined ? "api.unpublished" : "api.none")}>
                <p>{t("api.noneText")}</p>
                <LinkButton to={orbLink(id, "schema")}>{t("api.openSchema")}</LinkButton>
              </Empty>
            );
          }
          const named = given.get("operation");
          const operation = isOperation(named) ? named : "list";
          const sample = sampleOf({
            origin: location.origin,
            orb,
            module: chosen.module.id,
            schema: chosen.schema,
            href,
            operation,
            query: new URLSearchParams(given.get("query") ?? "limit=10"),
            entry: given.get("entry") ?? undefined,
          });
          return (
            <>
              <div class="filters">
                <SelectField
                  label={t("api.schema")}
                  value={chosen.key}
                  options={routed.map(({ key, module, schema }) => ({
                    value: key,
                    label: `${titleOf(module)} / ${titleOf(schema)}`,
                  }))}
                  onChange={(value) => set("schema", value)}
                />
                <SelectField
                  label={t("api.operation")}
                  value={operation}
                  options={OPERATIONS.map((value) => ({ value, label: t(`api.${value}`) }))}
                  onChange={(value) => set("operation", value)}
                />
              </div>
              <Code codeIn={(language) => codeOf(sample, language)} />
              <p class="actions">
                <a class="button plain" href={`/api/docs?orb=${encodeURIComponent(id)}`}>
                  {t("api.docs")}
                </a>
                <a class="button plain" href={`/api/openapi?orb=${encodeURIComponent(id)}`}>
                  {t("api.openapi")}
                </a>
              </p>
            </>
          );
        }}
      </Shows>
    </Page>
  );
}
