/**
 * Lets the user choose the language and market that the form shows, or all of them. Shows how many values a language
 * lacks.
 */
import { type Cell, type Content, isMissing } from "../../model/cells.ts";
import type { OrbModel } from "../../model/orb.ts";
import { languageName, t } from "../../texts/t.ts";

function Choice({
  label,
  options,
  current,
  onChange,
}: {
  label: string;
  options: readonly { value: string | undefined; text: string; missing?: number }[];
  current: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <fieldset class="variant-choice">
      <legend class="sr-only">{label}</legend>
      {options.map(({ value, text, missing = 0 }) => (
        <button
          key={text}
          type="button"
          aria-pressed={value === current}
          onClick={() => onChange(value)}
          title={missing === 0 ? undefined : t("entry.missingCount", { count: missing })}
        >
          {text}
          {missing === 0 ? null : (
            <span class="missing-count">
              {missing}
              <span class="sr-only"> {t("entry.missing")}</span>
            </span>
          )}
        </button>
      ))}
    </fieldset>
  );
}

export function Variants({
  orb: { languages, markets },
  cells,
  draft,
  language,
  market,
  onChange,
}: {
  orb: OrbModel;
  cells: readonly Cell[];
  draft: Content;
  language: string | undefined;
  market: string | undefined;
  onChange: (name: "language" | "market", value: string | undefined) => void;
}) {
  const missing = (tag: string) =>
    cells.filter((cell) => cell.language === tag && isMissing(draft, cell, languages)).length;
  const varies = (name: "language" | "market") => cells.some((cell) => cell[name] !== undefined);
  const withLanguages = languages.length > 1 && varies("language");
  const withMarkets = markets.length > 1 && varies("market");
  if (!withLanguages && !withMarkets) return null;
  return (
    <div class="variants">
      {withLanguages ? (
        <Choice
          label={t("entry.languages")}
          current={language}
          onChange={(value) => onChange("language", value)}
          options={[
            { value: undefined, text: t("entry.allLanguages") },
            ...languages.map((tag) => ({ value: tag, text: languageName(tag), missing: missing(tag) })),
          ]}
        />
      ) : null}
      {withMarkets ? (
        <Choice
          label={t("entry.markets")}
          current={market}
          onChange={(value) => onChange("market", value)}
          options={[
            { value: undefined, text: t("entry.allMarkets") },
            ...markets.map((name) => ({ value: name, text: name })),
          ]}
        />
      ) : null}
    </div>
  );
}
