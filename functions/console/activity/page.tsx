/** The page of all acts in an application. The URL contains the filters. */
import { useSearchParams } from "wouter-preact";
import { AccountPicker } from "../accounts/picker.tsx";
import { ACTIVITY_KINDS } from "../api/activity.ts";
import { instantOf } from "../model/moment.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { nameForAdmin } from "../state/names.ts";
import { useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { SelectField, TextField } from "../ui/form.tsx";
import { Page } from "../ui/page.tsx";
import { ActivityList } from "./list.tsx";

const TIMES = ["gte", "lte"] as const;

function filterOf(given: URLSearchParams): Record<string, string> {
  const filter: Record<string, string> = {};
  for (const name of ["by", "kind"]) {
    const value = given.get(name) ?? "";
    if (value !== "") filter[`filter[${name}]`] = value;
  }
  for (const name of TIMES) {
    const at = instantOf(given.get(name));
    if (at !== undefined) filter[`filter[at][${name}]`] = at;
  }
  return filter;
}

export default function Activity({ params: { orb: id = "" } }: { params: PageParams }) {
  const [given, setGiven] = useSearchParams();
  const orb = useOrb(id).data;
  const set = (name: string, value: string) =>
    setGiven(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const inputOf = (name: string) => ({
    value: given.get(name) ?? "",
    onChange: (value: string) => set(name, value),
  });
  return (
    <Page
      title={t("activity.title")}
      lead={t("activity.lead")}
      path={[{ label: orb === undefined ? id : titleOf(orb), to: orbLink(id) }]}
      wide
    >
      <div class="filters">
        <AccountPicker
          {...inputOf("by")}
          label={t("activity.by")}
          orb={id}
          searches
          name={nameForAdmin(id, given.get("by") ?? "")}
          known={[]}
        />
        <SelectField
          {...inputOf("kind")}
          label={t("activity.kind")}
          options={[
            { value: "", label: t("activity.kinds") },
            ...ACTIVITY_KINDS.map((kind) => ({ value: kind, label: t(`activity.kind-${kind}`) })),
          ]}
        />
        {TIMES.map((name) => (
          <TextField key={name} {...inputOf(name)} type="datetime-local" label={t(`audit.${name}`)} />
        ))}
      </div>
      {orb === undefined ? null : <ActivityList orb={orb} filter={filterOf(given)} />}
    </Page>
  );
}
