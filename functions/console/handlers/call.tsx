/** Lets the user call a handler with an input form, and shows the response. */
import { useState } from "preact/hooks";
import { callHandler } from "../api/handlers.ts";
import type { OrbHandler } from "../api/orbs.ts";
import { CodeButton } from "../code/sample.tsx";
import { literal, type Sample } from "../model/code.ts";
import { formatNumber, t } from "../texts/t.ts";
import { Button, CopyButton } from "../ui/button.tsx";
import { Checkbox, SelectField, TextArea, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, otherFaults, ProblemBox } from "../ui/problem.tsx";
import { type InputField, inputFields, inputOf } from "./input.ts";

const shown = (value: unknown) => JSON.stringify(value, null, 2) ?? "";

function Input({
  field: { name, kind, schema, required },
  text,
  error,
  onChange,
}: {
  field: InputField;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
}) {
  const common = { label: name, value: text, required, error, hint: schema.description, onChange };
  if (kind === "boolean")
    return (
      <Checkbox label={name} checked={text === "true"} onChange={(on) => onChange(on ? "true" : "false")} />
    );
  if (kind === "choice") {
    const values = (schema.enum ?? []).map(String);
    const options = [...(required ? [] : [""]), ...values].map((value) => ({ value, label: value }));
    return <SelectField {...common} options={options} />;
  }
  if (kind === "json") return <TextArea {...common} rows={3} class="mono" />;
  return <TextField {...common} inputMode={kind === "number" ? "decimal" : "text"} />;
}

/** The input that the user has entered, in a form or as JSON. */
function useInput(handler: OrbHandler) {
  const fields = inputFields(handler.input);
  const [asJson, setAsJson] = useState(fields === undefined);
  const [json, setJson] = useState("{}");
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(
      (fields ?? []).map(({ name, kind, required, schema }) => [
        name,
        kind === "choice" && required ? String(schema.enum?.[0] ?? "") : String(schema.default ?? ""),
      ]),
    ),
  );
  return {
    ...{ fields, asJson, json, setJson, texts, setTexts },
    /** Throws if the user has entered no valid JSON. */
    given: (): unknown => (asJson || fields === undefined ? JSON.parse(json) : inputOf(fields, texts)),
    /** Throws if a field of the form has no valid JSON. */
    toJson(on: boolean) {
      if (on) setJson(shown(inputOf(fields ?? [], texts)));
      setAsJson(on);
    },
  };
}

type GivenInput = ReturnType<typeof useInput>;

/** Calls the handler. */
function useCall(href: string, input: GivenInput) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [answer, setAnswer] = useState<{ text: string; ms: number }>();
  const call = async () => {
    setBusy(true);
    setError(undefined);
    setAnswer(undefined);
    const began = performance.now();
    try {
      const output = await callHandler(href, input.given());
      setAnswer({ text: shown(output), ms: Math.round(performance.now() - began) });
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return { busy, error, setError, answer, call };
}

/** Returns the request as sample code. It has no input as long as the user has entered no valid JSON. */
function sampleOf(handler: OrbHandler, href: string, { given }: GivenInput): Sample {
  let body: unknown = {};
  try {
    body = given();
  } catch {
    // The sample code contains no input.
  }
  const [, , orb = ""] = href.split("/");
  return {
    method: "POST",
    url: location.origin + href,
    body,
    call: `client.orb(${literal(decodeURIComponent(orb))}).call(${literal(handler.name)}, ${literal(body)})`,
  };
}

function Inputs({ input, faults }: { input: GivenInput; faults: ReturnType<typeof faultsOf> }) {
  const { fields, asJson, json, setJson, texts, setTexts } = input;
  if (asJson || fields === undefined)
    return (
      <TextArea label={t("handlers.input")} value={json} onChange={setJson} class="mono" spellcheck={false} />
    );
  return (
    <>
      {fields.map((field) => (
        <Input
          key={field.name}
          field={field}
          text={texts[field.name] ?? ""}
          error={faultAt(faults, `/${field.name}`)}
          onChange={(text) => setTexts({ ...texts, [field.name]: text })}
        />
      ))}
    </>
  );
}

export function Call({ handler, href }: { handler: OrbHandler; href: string }) {
  const input = useInput(handler);
  const { busy, error, setError, answer, call } = useCall(href, input);
  const { fields, asJson } = input;
  const faults = asJson ? [] : faultsOf(error);
  const paths = (fields ?? []).map(({ name }) => `/${name}`);
  const beside = faults.length > 0 && otherFaults(faults, paths).length === 0;
  const toJson = (on: boolean) => {
    try {
      input.toJson(on);
    } catch (reason) {
      setError(reason);
    }
  };
  return (
    <form
      class="call"
      onSubmit={(event) => {
        event.preventDefault();
        void call();
      }}
    >
      {error === undefined || beside ? null : <ProblemBox error={error} />}
      <Inputs input={input} faults={faults} />
      <div class="actions">
        <Button kind="primary" type="submit" icon="zap" busy={busy}>
          {t("handlers.call")}
        </Button>
        <CodeButton samples={() => [{ name: handler.name, sample: sampleOf(handler, href, input) }]} />
        {fields === undefined ? null : (
          <Checkbox label={t("handlers.asJson")} checked={asJson} onChange={toJson} />
        )}
      </div>
      {answer === undefined ? null : (
        <output class="answer">
          <span class="hint">{t("handlers.answered", { ms: formatNumber(answer.ms) })}</span>
          <CopyButton text={answer.text} />
          <pre>{answer.text}</pre>
        </output>
      )}
    </form>
  );
}
