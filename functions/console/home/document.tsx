import { useRef, useState } from "preact/hooks";
import { lineAt, placesIn, type Span, spanOf, syntaxFault } from "../model/json-place.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, TextArea } from "../ui/form.tsx";
import { faultsOf, ProblemBox } from "../ui/problem.tsx";
import type { Submit } from "./submit.ts";

interface Placed {
  message: string;
  place: Span | undefined;
}

/** A form for creating an application from a JSON document. Each error links to its place in the document. */
export function DocumentForm({
  busy,
  error,
  submit,
  initial,
  hint,
}: Submit & { initial: string; hint: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [text, setText] = useState(initial);
  const [publish, setPublish] = useState(true);
  /** The text that the platform validated last. The errors apply only to this text. */
  const [sent, setSent] = useState("");
  const broken = text.trim() === "" ? undefined : syntaxFault(text);
  const faults = faultsOf(error);
  const places = faults.length > 0 && sent === text ? placesIn(text) : new Map<string, Span>();
  const placed: Placed[] =
    broken === undefined
      ? faults.map(({ path, message }) => ({ message: `${path} ${message}`, place: spanOf(places, path) }))
      : [{ message: t("create.syntax"), place: broken }];
  const show = ({ from, to }: Span) => {
    const area = box.current?.querySelector("textarea");
    if (!area) return;
    area.focus();
    area.setSelectionRange(from, to);
    const height = Number.parseFloat(getComputedStyle(area).lineHeight);
    area.scrollTop = Math.max(0, (lineAt(text, from) - 4) * height);
  };
  return (
    <form
      class="form wide"
      onSubmit={(event) => {
        event.preventDefault();
        if (busy || broken !== undefined) return;
        setSent(text);
        void submit(JSON.parse(text), publish);
      }}
    >
      {error !== undefined && faults.length === 0 ? <ProblemBox error={error} /> : null}
      <div ref={box}>
        <TextArea
          label={t("create.document")}
          hint={hint}
          class="mono"
          rows={22}
          value={text}
          onChange={setText}
          spellcheck={false}
          wrap="off"
        />
      </div>
      <div role="alert">
        {placed.length === 0 ? null : (
          <ul class="faults" aria-label={t("create.faults")}>
            {placed.map(({ message, place }) => (
              <li key={message}>
                {place === undefined ? null : (
                  <Button size="small" onClick={() => show(place)}>
                    {t("create.line", { number: lineAt(text, place.from) })}
                  </Button>
                )}
                <span>{message}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <Checkbox
        label={t("create.publish")}
        hint={t("create.publishHint")}
        checked={publish}
        onChange={setPublish}
      />
      <div class="form-actions">
        <Button
          kind="primary"
          type="submit"
          busy={busy}
          disabled={text.trim() === "" || broken !== undefined}
        >
          {t("create.submit")}
        </Button>
      </div>
    </form>
  );
}
