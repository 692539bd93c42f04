/** The command `orb used`: lists who still names which revision of an orb's document. */
import { type Context, manage } from "./command/context.ts";

interface Use {
  revision: number;
  kind: "token" | "account" | "handler" | "anonymous" | "others";
  id: string | null;
  name: string | null;
  first: string;
  last: string;
}

function userOf({ kind, name, id }: Use): string {
  if (kind === "anonymous") return "callers who are not signed in";
  if (kind === "others") return "further callers";
  return `${kind} ${name ?? id}`;
}

export async function listUsed(context: Context, orb: string): Promise<number> {
  const path = `/api/admin/orbs/${encodeURIComponent(orb)}/definitions/used`;
  const found = await manage<{ items: Use[]; publishedRevision: number | null }>(context, "GET", path);
  context.result(found, () =>
    found.items.length === 0
      ? "No caller has named a revision in the last 90 days."
      : found.items.map((use) => {
          const { revision, first, last } = use;
          const mark = revision === found.publishedRevision ? " (live)" : "";
          return `${revision}${mark}  ${userOf(use)}: since ${first}, last ${last}`;
        }),
  );
  return 0;
}
