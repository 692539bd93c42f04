/** Shows the messages of a stream as they arrive. */
import { useEffect, useState } from "preact/hooks";
import { followStream } from "../api/handlers.ts";
import { CodeButton } from "../code/sample.tsx";
import { literal, type Sample } from "../model/code.ts";
import type { PageParams } from "../shell/nav.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { SelectField } from "../ui/form.tsx";
import { Page } from "../ui/page.tsx";
import { ProblemBox } from "../ui/problem.tsx";

/** Maximum number of messages on the page. When new messages arrive, the oldest disappear. */
const MOST = 200;

interface Line {
  id: number;
  text: string;
}

const sampleOf = (name: string, offset: string): Sample => ({
  method: "GET",
  url: `${location.origin}/api/streams/${encodeURIComponent(name)}`,
  query: new URLSearchParams({ offset, live: "sse" }),
  call: `client.stream(${literal(name)}, ${literal({ offset })})`,
  stream: true,
});

export default function Tail({ params: { name = "" } }: { params: PageParams }) {
  const [from, setFrom] = useState<"-1" | "now">("now");
  const [paused, setPaused] = useState(false);
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (paused) return undefined;
    const abort = new AbortController();
    let last = 0;
    setLines([]);
    setError(undefined);
    const follow = async () => {
      for await (const { messages } of followStream(name, from, abort.signal)) {
        if (messages.length === 0) continue;
        const added = messages.slice(-MOST).map((message) => ({ id: ++last, text: JSON.stringify(message) }));
        setLines((shown) => [...added.reverse(), ...shown].slice(0, MOST));
      }
    };
    follow().catch((reason: unknown) => {
      if (!abort.signal.aborted) setError(reason);
    });
    return () => abort.abort();
  }, [name, from, paused]);
  return (
    <Page
      title={name}
      path={[{ label: t("streams.title"), to: "/streams" }]}
      wide
      lead={<Badge tone={paused ? "neutral" : "good"}>{t(paused ? "streams.paused" : "streams.live")}</Badge>}
      actions={
        <>
          <CodeButton samples={() => [{ name, sample: sampleOf(name, from) }]} />
          <Button icon={paused ? "play" : "pause"} onClick={() => setPaused(!paused)}>
            {t(paused ? "streams.follow" : "streams.pause")}
          </Button>
        </>
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      <div class="filters">
        <SelectField
          label={t("streams.from")}
          value={from}
          options={[
            { value: "now", label: t("streams.fromNow") },
            { value: "-1", label: t("streams.fromStart") },
          ]}
          onChange={(value) => setFrom(value === "now" ? "now" : "-1")}
        />
      </div>
      {lines.length === 0 && error === undefined ? <p class="hint">{t("streams.waiting")}</p> : null}
      <ol class="tail" aria-label={t("streams.messages")} aria-live="off">
        {lines.map(({ id, text }) => (
          <li key={id}>
            <code>{text}</code>
          </li>
        ))}
      </ol>
    </Page>
  );
}
