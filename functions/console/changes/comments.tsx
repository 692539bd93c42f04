/** The comments on a change set, on an entry in it, or on a field of the entry. */
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  addComment,
  type ChangeComment,
  type ChangeSet,
  type ChangesPlace,
  listComments,
  resolveComment,
} from "../api/changes.ts";
import { useAction } from "../state/action.ts";
import { setsKey } from "../state/change.ts";
import { type Loaded, useLoad } from "../state/load.ts";
import { useTyped } from "../state/typed.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { TextArea } from "../ui/form.tsx";
import { faultAt, faultsOf, ProblemBox } from "../ui/problem.tsx";
import { Time } from "../ui/time.tsx";
import { complain } from "../ui/toast.tsx";
import { Offered, useMentions, WithMentions } from "./mentions.tsx";
import { Author } from "./parts.tsx";

/** The page shows at most this many pages of 200 comments. */
const MOST_PAGES = 10;

/** The comments on a set, and what is needed to write further ones. */
export interface Discussion {
  place: ChangesPlace;
  set: string;
  comments: Loaded<readonly ChangeComment[]>;
  /** Ids of the accounts that take part: those that have opened, written, approved or discussed the set. */
  people: readonly string[];
}

/** Reads the comments on a set, oldest first. */
export function useDiscussion(place: ChangesPlace, set: string, of: ChangeSet | undefined): Discussion {
  const comments = useLoad<readonly ChangeComment[]>(setsKey(place.orb, set, "comments"), async (signal) => {
    const all: ChangeComment[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const { items, nextCursor } = await listComments(place, set, cursor, signal);
      all.push(...items);
      if (nextCursor === null) break;
      cursor = nextCursor;
    }
    return all;
  });
  const people = [
    ...(of === undefined ? [] : [of.createdBy, ...of.authors, ...of.approvals.map(({ by }) => by)]),
    ...(comments.data ?? []).flatMap(({ by, mentions }) => [by, ...mentions]),
  ];
  return { place, set, comments, people };
}

function Comment({ discussion, comment }: { discussion: Discussion; comment: ChangeComment }) {
  const { place, set, comments } = discussion;
  const { id, text, mentions, at, by, token, through, resolved } = comment;
  const [busy, setBusy] = useState(false);
  const resolve = async () => {
    setBusy(true);
    try {
      const done = await resolveComment(place, set, id);
      comments.change((all) => all.map((one) => (one.id === id ? done : one)));
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <li class="change-comment">
      <p class="hint">
        <Author orb={place.orb} {...{ by, token, through }} /> · <Time at={at} />
      </p>
      <p class="change-words" dir="auto">
        <WithMentions orb={place.orb} {...{ text, mentions }} />
      </p>
      {resolved === null ? (
        <Button size="small" icon="check" busy={busy} onClick={() => void resolve()}>
          {t("changes.resolve")}
        </Button>
      ) : (
        <p class="hint">
          {t("changes.resolved")} <Author orb={place.orb} by={resolved.by} /> · <Time at={resolved.at} />
        </p>
      )}
    </li>
  );
}

function CommentForm({
  label,
  orb,
  people,
  onSend,
  onClose,
}: {
  label: string;
  orb: string;
  /** Ids of the accounts that take part in the discussion. */
  people: readonly string[];
  onSend: (text: string, mentions: string[]) => Promise<unknown>;
  onClose: () => void;
}) {
  const [text, setText] = useState("");
  const mentioning = useMentions(orb, text, people);
  const area = useRef<HTMLFormElement | null>(null);
  const { busy, error, run } = useAction();
  const typed = useTyped<HTMLFormElement>(busy);
  const form = useCallback((root: HTMLFormElement | null) => {
    typed.ref(root);
    area.current = root;
    root?.querySelector("textarea")?.focus();
  }, []);
  const faults = faultsOf(error);
  const send = () => {
    if (!busy) void run(() => onSend(text.trim(), mentioning.idsIn(text)));
  };
  return (
    <form
      class="change-comment-form"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        send();
      }}
    >
      {error === undefined || faults.length > 0 ? null : <ProblemBox error={error} />}
      <TextArea label={label} value={text} onChange={setText} error={faultAt(faults, "/text")} rows={3} />
      <Offered
        offered={mentioning.offered}
        onChoose={(account) => {
          setText(mentioning.insert(account));
          area.current?.querySelector("textarea")?.focus();
        }}
      />
      <div class="change-buttons">
        <Button kind="primary" size="small" type="submit" busy={busy}>
          {t("changes.send")}
        </Button>
        <Button
          size="small"
          onClick={() =>
            void typed.mayDiscard().then((sure) => {
              if (sure) onClose();
            })
          }
        >
          {t("ui.cancel")}
        </Button>
      </div>
    </form>
  );
}

/** Shows the comments on one thing, and lets the user write another one. Resolved comments are folded away. */
export function Comments({
  discussion,
  about,
  name,
}: {
  discussion: Discussion;
  /** What the comments are about: nothing for the set itself. */
  about: { entry?: string; field?: string };
  /** Name of what the comments are about. */
  name: string;
}) {
  const { place, set, comments } = discussion;
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLDivElement>(null);
  const wasOpen = useRef(false);
  // The form replaces the button, and the button the form: the focus follows at once.
  useLayoutEffect(() => {
    if (wasOpen.current && !open) button.current?.querySelector("button")?.focus();
    wasOpen.current = open;
  }, [open]);
  const own = (comments.data ?? []).filter(
    ({ entry, field }) => entry === (about.entry ?? null) && field === (about.field ?? null),
  );
  const [left, done] = [
    own.filter((one) => one.resolved === null),
    own.filter((one) => one.resolved !== null),
  ];
  const list = (some: readonly ChangeComment[]) => (
    <ul class="change-comments">
      {some.map((comment) => (
        <Comment key={comment.id} {...{ discussion, comment }} />
      ))}
    </ul>
  );
  return (
    <div class="change-discussion">
      {left.length === 0 ? null : list(left)}
      {done.length === 0 ? null : (
        <details>
          <summary>{t("changes.resolvedCount", { count: done.length })}</summary>
          {list(done)}
        </details>
      )}
      {open ? (
        <CommentForm
          label={t("changes.commentOn", { name })}
          orb={place.orb}
          people={discussion.people}
          onClose={() => setOpen(false)}
          onSend={async (text, mentions) => {
            const made = await addComment(place, set, { text, mentions, ...about });
            comments.change((all) => [...all, made]);
            setOpen(false);
          }}
        />
      ) : (
        <div ref={button}>
          <Button
            kind="quiet"
            size="small"
            icon="messageSquare"
            aria-label={t("changes.commentOn", { name })}
            onClick={() => setOpen(true)}
          >
            {t("changes.addComment")}
          </Button>
        </div>
      )}
    </div>
  );
}
