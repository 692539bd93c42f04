/** Shows the page of the site beside the form, as it will be with what the user has typed. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { entryMessage } from "../../../../shared/site/messages.ts";
import type { EntryPlace } from "../../api/entries.ts";
import { pathOf } from "../../api/http.ts";
import { endPreview, makePreview, type PreviewLink } from "../../api/previews.ts";
import type { Content } from "../../model/cells.ts";
import type { FieldModel, OrbModel } from "../../model/orb.ts";
import { LOCALE, t } from "../../texts/t.ts";
import { IconButton } from "../../ui/button.tsx";
import { copyText } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ProblemBox } from "../../ui/problem.tsx";
import { Loading } from "../../ui/states.tsx";
import { complain, say } from "../../ui/toast.tsx";
import { fillFrame, focusField, listenTo, tell } from "./frame.ts";
import { pageEntry } from "./values.ts";

/** A page that does not connect within this many milliseconds probably lacks the lines of the guide. */
const PATIENCE_MS = 8_000;
/** A new link is made this many milliseconds before the old one ends. */
const EARLY_MS = 60_000;
/** Lifetime in seconds of a link that the user copies. */
const SHARED_SECONDS = 86_400;

interface PaneProps {
  place: EntryPlace;
  orb: OrbModel;
  fields: readonly FieldModel[];
  entry: string;
  /** The content as it is stored, and as it is in the form. */
  stored: Content;
  content: Content;
  /** Number of the stored revision. */
  revision: number;
  language: string | undefined;
  market: string | undefined;
  onClose: () => void;
}

/** Makes a link for the pane, makes another one before it ends, and ends it when the pane closes. */
function useLink(place: EntryPlace, entry: string, language: string | undefined, market: string | undefined) {
  const [link, setLink] = useState<PreviewLink>();
  const [problem, setProblem] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let made: PreviewLink | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    // An open preview needs no link any more, and a link that cannot be ended ends by itself.
    const end = () => made && void endPreview(place.orb, made.id).catch(() => undefined);
    setLink(undefined);
    setProblem(undefined);
    makePreview(place, entry, { locale: language, market }).then(
      (next) => {
        made = next;
        if (ended) return end();
        setLink(next);
        const left = Date.parse(next.expiresAt) - Date.now() - EARLY_MS;
        timer = setTimeout(() => setTurn((now) => now + 1), Math.max(left, EARLY_MS / 2));
        return undefined;
      },
      (error: unknown) => {
        if (!ended) setProblem(error);
      },
    );
    return () => {
      ended = true;
      clearTimeout(timer);
      end();
    };
  }, [place.orb, place.module, place.schema, place.change, entry, language, market, turn]);
  return { link, problem, again: () => setTurn((now) => now + 1) };
}

/** Makes a link that the user can send to others, and copies it. */
async function share({ place, entry, language, market }: PaneProps): Promise<void> {
  const wish = { locale: language, market, expiresIn: SHARED_SECONDS };
  const { id, url, expiresAt } = await makePreview(place, entry, wish);
  const end = () => void endPreview(place.orb, id).then(() => say(t("preview.ended")), complain);
  if (!(await copyText(url))) {
    end();
    throw new Error(t("ui.copyRefused"));
  }
  const time = new Date(expiresAt).toLocaleString(LOCALE);
  say(t("preview.copied", { time }), { label: t("preview.end"), run: end });
}

/** The frame, connected with the form. */
function Page({ link, ...props }: PaneProps & { link: PreviewLink }) {
  const { place, orb, fields, stored, content, revision, language, market } = props;
  const outer = useRef<HTMLIFrameElement>(null);
  const inner = useRef<HTMLIFrameElement>();
  const [isConnected, setConnected] = useState(false);
  const [isLate, setLate] = useState(false);
  const view = { orb, language, market };
  const shown = useMemo(() => pageEntry(content, fields, view), [content, fields, language, market]);
  const saved = useMemo(() => pageEntry(stored, fields, view), [revision, fields, language, market]);
  const newest = useRef({ shown, saved, fields });
  newest.current = { shown, saved, fields };
  const send = (type: "stored" | "typed") => {
    const { shown: now, saved: before } = newest.current;
    if (inner.current !== undefined)
      tell(inner.current, link.site, entryMessage(type, type === "stored" ? before : now));
  };
  const stop = useRef<() => void>(() => undefined);
  const fill = () => {
    if (outer.current === null) return;
    stop.current();
    setConnected(false);
    inner.current = fillFrame(outer.current, link.url, t("preview.page"));
    if (inner.current === undefined) return;
    stop.current = listenTo(outer.current, inner.current, link.site, (message) => {
      if (message.type === "ready") {
        setConnected(true);
        send("stored");
        send("typed");
      } else {
        const names = new Set(newest.current.fields.map(({ name }) => name));
        focusField(message.field, names, language);
      }
    });
  };
  useEffect(() => () => stop.current(), []);
  useLayoutEffect(() => {
    if (isConnected) send("typed");
  }, [shown]);
  useLayoutEffect(() => {
    if (!isConnected) return;
    send("stored");
    send("typed");
  }, [saved]);
  useEffect(() => {
    setLate(false);
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [link.url]);
  return (
    <>
      <iframe
        key={link.url}
        ref={outer}
        class="preview-frame"
        data-connected={isConnected}
        title={t("preview.title")}
        src={`/api${pathOf(place.orb, "_previews", "frame")}`}
        onLoad={fill}
      />
      {isLate && !isConnected ? (
        <p class="hint" role="status">
          {t("preview.silent", { site: link.site })}
        </p>
      ) : null}
    </>
  );
}

export default function PreviewPane(props: PaneProps) {
  const { place, entry, language, market, onClose } = props;
  const { link, problem, again } = useLink(place, entry, language, market);
  return (
    <aside class="entry-preview" aria-label={t("preview.title")}>
      <header>
        <h2>{t("preview.title")}</h2>
        <span class="actions">
          <IconButton label={t("preview.reload")} icon="refresh" onClick={again} />
          <IconButton
            label={t("preview.copy")}
            icon="link"
            onClick={() => void share(props).catch(complain)}
          />
          {link === undefined ? null : (
            <a
              class="button square"
              href={link.url}
              target="_blank"
              rel="noreferrer"
              title={t("preview.open")}
            >
              <Icon name="externalLink" />
              <span class="sr-only">{t("preview.open")}</span>
            </a>
          )}
          <IconButton label={t("ui.close")} icon="x" onClick={onClose} />
        </span>
      </header>
      {problem === undefined ? null : <ProblemBox error={problem} />}
      {link === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : new URL(link.url).origin === location.origin ? (
        // A page of the platform's own origin could read what the console has.
        <p class="problem">{t("preview.own")}</p>
      ) : (
        <Page {...props} link={link} />
      )}
    </aside>
  );
}
