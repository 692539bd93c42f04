/** Says how much content an application has, in questions about the whole application. */
import { type Count, readContents } from "../api/orbs.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { wordsOf } from "../ui/problem.tsx";
import { Loading } from "../ui/states.tsx";

const countWords = (kind: "entries" | "users" | "files", { total, totalExact }: Count): string => {
  const words = t(`contents.${kind}`, { count: total });
  return totalExact === false ? t("contents.more", { words }) : words;
};

function Counts({ orb }: { orb: string }) {
  const { data, error } = useLoad(`orbs/${orb}/contents`, (signal) => readContents(orb, signal));
  if (error !== undefined) return <p class="error">{wordsOf(error)}</p>;
  if (data === undefined) return <Loading text={t("contents.counting")} />;
  return (
    <ul>
      {(["entries", "users", "files"] as const).map((kind) => (
        <li key={kind}>{countWords(kind, data[kind])}</li>
      ))}
    </ul>
  );
}

export function OrbContents({ orb }: { orb: string }) {
  return (
    <div class="contents">
      <Counts orb={orb} />
    </div>
  );
}
