/** Lists the handlers that an application uses, with a form to call each of them. */
import { useState } from "preact/hooks";
import { orbHandlers } from "../api/handlers.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Call } from "./call.tsx";
import { Presence } from "./status.tsx";

export default function Handlers({ params: { orb: id = "" } }: { params: PageParams }) {
  const orb = useOrb(id);
  const handlers = useLoad(`handlers/${id}`, async (signal) => ({ all: await orbHandlers(id, signal) }));
  const [open, setOpen] = useState<string>();
  return (
    <Page
      title={t("handlers.ofOrb")}
      lead={t("handlers.ofOrbLead")}
      path={[{ label: orb.data === undefined ? id : titleOf(orb.data), to: orbLink(id) }]}
    >
      <Shows of={handlers}>
        {({ all }) =>
          all === undefined || all.length === 0 ? (
            <Empty icon="zap" title={t(all === undefined ? "handlers.unpublished" : "handlers.none")}>
              <p>{t("handlers.noneText")}</p>
              <LinkButton to={orbLink(id, "schema")}>{t("handlers.openSchema")}</LinkButton>
            </Empty>
          ) : (
            <ul class="stack">
              {all.map((handler) => {
                const { name, description, available, href, kind } = handler;
                const callable = href !== null && kind !== "http";
                return (
                  <li class="card" key={name}>
                    <div class="row-between">
                      <div>
                        <h2>
                          <code>{name}</code> <Presence status={available ? "available" : "absent"} />
                        </h2>
                        <p class="hint">{description ?? href ?? t("handlers.signsIn")}</p>
                      </div>
                      {callable ? (
                        <Button
                          aria-expanded={open === name}
                          icon={open === name ? "chevronDown" : "chevronRight"}
                          onClick={() => setOpen(open === name ? undefined : name)}
                        >
                          {t("handlers.try")}
                        </Button>
                      ) : null}
                    </div>
                    {callable && open === name ? <Call handler={handler} href={href} /> : null}
                  </li>
                );
              })}
            </ul>
          )
        }
      </Shows>
    </Page>
  );
}
