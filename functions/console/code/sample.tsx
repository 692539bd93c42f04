/** Shows requests as code. */
import { useState } from "preact/hooks";
import { type CodeLanguage, codeOf, LANGUAGES, type Sample } from "../model/code.ts";
import { t } from "../texts/t.ts";
import { Button, CopyButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField } from "../ui/form.tsx";
import { Tabs } from "../ui/tabs.tsx";

/** One request in all languages. */
export function Code({ codeIn }: { codeIn: (language: CodeLanguage) => string }) {
  const [language, setLanguage] = useState<CodeLanguage>("curl");
  const code = codeIn(language);
  return (
    <>
      <Tabs
        label={t("api.language")}
        tabs={LANGUAGES.map((one) => ({ id: one, label: t(`api.${one}`) }))}
        current={language}
        onChange={setLanguage}
      >
        <div class="code">
          <CopyButton text={code} label={t("api.copy")} />
          <pre>{code}</pre>
        </div>
      </Tabs>
      <p class="hint code-note">{t("api.token")}</p>
    </>
  );
}

interface Named {
  name: string;
  sample: Sample;
}

export function CodeDialog({ samples, onClose }: { samples: readonly Named[]; onClose: () => void }) {
  const [at, setAt] = useState("0");
  const sample = samples[Number(at)]?.sample;
  return (
    <Dialog title={t("api.dialog")} wide onClose={onClose}>
      {samples.length === 1 ? null : (
        <SelectField
          label={t("api.operation")}
          value={at}
          options={samples.map(({ name }, index) => ({ value: String(index), label: name }))}
          onChange={setAt}
        />
      )}
      {sample === undefined ? null : <Code codeIn={(language) => codeOf(sample, language)} />}
    </Dialog>
  );
}

/**
 * A button that shows sample code for the requests that a page sends. @param samples returns the requests with their
 * names
 */
export function CodeButton({ samples }: { samples: () => readonly Named[] }) {
  const [shown, setShown] = useState<readonly Named[]>();
  return (
    <>
      <Button icon="code" aria-label={t("api.button")} onClick={() => setShown(samples())}>
        <span class="wide-only">{t("api.button")}</span>
      </Button>
      {shown === undefined ? null : <CodeDialog samples={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}
