/** The published document, with which a draft is compared. */
import { readLive } from "../../api/documents.ts";
import { useLoad } from "../../state/load.ts";
import { baseOf, type Editor } from "../document/editor.ts";

/** Returns the document that the draft is compared with: the published one, or the stored one before the first. */
export function useBefore(editor: Editor) {
  const { state, document: stored } = editor.base.value;
  const { publishedRevision } = state;
  const live = useLoad(
    publishedRevision === null ? null : `live/${editor.orb}/${publishedRevision}`,
    (signal) => readLive(editor.orb, signal),
  );
  const published = live.data === undefined ? undefined : baseOf(live.data).document;
  return { live, before: publishedRevision === null ? stored : published };
}
