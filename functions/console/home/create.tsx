/** Creates an application: blank, from the example, or from a document. */
import { useLocation, useSearch } from "wouter-preact";
import example from "../../../scripts/examples/shop.json" with { type: "json" };
import type { PageParams } from "../shell/nav.ts";
import { useTyped } from "../state/typed.ts";
import { t } from "../texts/t.ts";
import { Page } from "../ui/page.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { BlankForm } from "./blank.tsx";
import { DocumentForm } from "./document.tsx";
import { useSubmit } from "./submit.ts";

const WAYS = ["blank", "example", "paste"] as const;
type Way = (typeof WAYS)[number];

export default function Create(_: { params: PageParams }) {
  const [, go] = useLocation();
  const asked = new URLSearchParams(useSearch()).get("from");
  const typed = useTyped<HTMLDivElement>();
  const way: Way = WAYS.find((one) => one === asked) ?? "blank";
  return (
    <Page title={t("create.title")} path={[{ label: t("home.orbs"), to: "/" }]}>
      <Tabs
        label={t("create.ways")}
        tabs={WAYS.map((id) => ({ id, label: t(`create.${id}`) }))}
        current={way}
        onChange={(id) =>
          void typed.mayDiscard().then((sure) => {
            if (sure) go(`/orbs/new?from=${id}`, { replace: true });
          })
        }
      >
        <div ref={typed.ref}>
          <Way key={way} way={way} />
        </div>
      </Tabs>
    </Page>
  );
}

function Way({ way }: { way: Way }) {
  const submit = useSubmit();
  if (way === "blank") return <BlankForm {...submit} />;
  return (
    <DocumentForm
      {...submit}
      hint={t(`create.${way}Hint`)}
      initial={way === "example" ? `${JSON.stringify(example, null, 2)}\n` : ""}
    />
  );
}
