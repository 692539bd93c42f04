import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { Link } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Shows } from "../ui/states.tsx";

/** What an orb consists of. */
export default function Overview({ params: { orb: id = "" } }: { params: PageParams }) {
  const orb = useOrb(id);
  return (
    <Page title={orb.data === undefined ? id : titleOf(orb.data)} lead={orb.data?.description}>
      <Shows of={orb}>
        {({ modules }) => (
          <div class="cards">
            {modules.map((module) => (
              <section class="card" key={module.id}>
                <h2>{titleOf(module)}</h2>
                <ul class="rows">
                  {module.schemas.map((schema) => (
                    <li key={schema.id}>
                      <Link to={orbLink(id, "entries", module.id, schema.id)}>{titleOf(schema)}</Link>
                      <span class="hint"> {t("orb.fields", { count: schema.fields.length })}</span>
                    </li>
                  ))}
                </ul>
              </section>
            ))}
          </div>
        )}
      </Shows>
    </Page>
  );
}
