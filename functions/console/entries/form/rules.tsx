/** Runs the published rules of a module with facts (input data) that the user types. */
import { useState } from "preact/hooks";
import { pathOf, post } from "../../api/http.ts";
import { jsonKind } from "../../fields/json.tsx";
import { useAction } from "../../state/action.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { ProblemBox } from "../../ui/problem.tsx";

interface Evaluation {
  results: readonly { id: string; name?: string; result: unknown }[];
  evaluated: number;
}

export function TryRules({ orb, module, schema }: { orb: string; module: string; schema: string }) {
  const [facts, setFacts] = useState<unknown>({});
  const [fault, setFault] = useState<string>();
  const { busy, error: problem, run } = useAction();
  const [answer, setAnswer] = useState<Evaluation>();
  const { Input } = jsonKind;
  const evaluate = async () => {
    const path = `/api${pathOf(orb, "call", "rules", "evaluate")}`;
    setAnswer(await post<Evaluation>(path, { module, schema, facts }));
  };
  return (
    <section class="card">
      <h2>{t("entry.tryRules")}</h2>
      <Field label={t("entry.facts")} hint={t("entry.factsHint")}>
        {(attributes) => (
          <Input
            field={{ name: "facts", type: "json" }}
            value={facts}
            onChange={setFacts}
            onFault={setFault}
            attributes={attributes}
            orb={orb}
            managed
          />
        )}
      </Field>
      <p class="try-run">
        <Button icon="zap" busy={busy} disabled={fault !== undefined} onClick={() => void run(evaluate)}>
          {t("entry.evaluate")}
        </Button>
      </p>
      {problem === undefined ? null : <ProblemBox error={problem} />}
      {answer === undefined ? null : (
        <div role="status">
          <p>{t("entry.fired", { count: answer.results.length, all: answer.evaluated })}</p>
          {answer.results.map(({ id, name, result }) => (
            <div key={id}>
              <h3>{name ?? id}</h3>
              <pre class="mono">{JSON.stringify(result, null, 2)}</pre>
            </div>
          ))}
        </div>
      )}
    </section>
  );
}
