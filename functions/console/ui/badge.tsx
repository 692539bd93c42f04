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

/** The state of an orb or an entry, and whether it has a newer draft than the published revision. */
export function StateBadge({
  of: { status, revision, publishedRevision },
}: {
  of: { status: keyof typeof STATES; revision: number; publishedRevision: number | null };
}) {
  const [tone, key] = STATES[status];
  const draft = publishedRevision !== null && publishedRevision < revision;
  return (
    <>
      <Badge tone={tone}>{t(key)}</Badge>
      {draft ? <Badge tone="info">{t("state.draft")}</Badge> : null}
    </>
  );
}
