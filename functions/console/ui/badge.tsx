import type { ComponentChildren } from "preact";
import { t } from "../texts/t.ts";

export type Tone = "good" | "warning" | "bad" | "info" | "neutral";

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const STATES = {
  SAVED: ["info", "state.SAVED"],
  PUBLISHED: ["good", "state.PUBLISHED"],
  UNPUBLISHED: ["warning", "state.UNPUBLISHED"],
  ARCHIVED: ["neutral", "state.ARCHIVED"],
  DELETED: ["bad", "state.DELETED"],
} as const;

interface Stated {
  status: keyof typeof STATES;
  revision: number;
  publishedRevision: number | null;
  /** When the entry's newest revision becomes visible. */
  validFrom?: string | null;
  validTo?: string | null;
}

/**
 * Returns whether a published entry is not visible yet, or no longer visible. Returns undefined if the entry is
 * visible, or if that is unknown, because a newer draft has its own period of visibility.
 */
export function outsideWindow(
  { status, revision, publishedRevision, validFrom, validTo }: Stated,
  now: Date,
): "scheduled" | "ended" | undefined {
  if (status !== "PUBLISHED" || publishedRevision !== revision) return undefined;
  if (validTo !== null && validTo !== undefined && new Date(validTo) <= now) return "ended";
  return validFrom !== null && validFrom !== undefined && new Date(validFrom) > now ? "scheduled" : undefined;
}

/** Shows the state of an application or an entry, and whether a draft is newer than the published revision. */
export function StateBadge({ of }: { of: Stated }) {
  const { status, revision, publishedRevision } = of;
  const outside = outsideWindow(of, new Date());
  const [tone, key] =
    outside === undefined
      ? STATES[status]
      : ([outside === "ended" ? "neutral" : "info", `state.${outside}`] as const);
  const draft = publishedRevision !== null && publishedRevision < revision;
  return (
    <>
      <Badge tone={tone}>{t(key)}</Badge>
      {draft ? <Badge tone="info">{t("state.draft")}</Badge> : null}
    </>
  );
}
