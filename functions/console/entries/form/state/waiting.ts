/** Lets a save wait until the files of the form are uploaded. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Progress } from "../../../files/uploads.ts";
import { t } from "../../../texts/t.ts";

type Wanted = "publish" | "save" | "add";

export interface Waiting {
  /** What is being uploaded, and whether a save waits for it. Undefined if nothing is. */
  text: string | undefined;
  /** What waits: a publication, a save, or the dialog that adds the entry to a change set. */
  wanted: Wanted | undefined;
  /** Saves now, or after the uploads. */
  save: (publish: boolean) => void;
  /** Adds the entry to a change set, now or after the uploads. */
  add: () => void;
  cancel: () => void;
  /** Reports the uploads of a cell; undefined if there are none. */
  report: (cell: string, progress: Progress | undefined) => void;
  isUploading: () => boolean;
}

/** @param run does what is wanted with the form as it is at the time of the call */
export function useWaiting(run: (wanted: Wanted) => void): Waiting {
  const [uploads, setUploads] = useState<ReadonlyMap<string, Progress>>(new Map());
  const [wanted, setWanted] = useState<Waiting["wanted"]>();
  // An event may follow before the next render.
  const newest = useRef(uploads);
  const cells = uploads.size;
  // Runs after the render that shows the last file, so that the save includes it.
  useEffect(() => {
    if (wanted === undefined || cells > 0) return;
    setWanted(undefined);
    run(wanted);
  }, [wanted, cells]);
  const want = (next: Wanted) => {
    if (newest.current.size === 0) run(next);
    else setWanted(next);
  };
  const all = [...uploads.values()];
  const count = all.reduce((sum, progress) => sum + progress.count, 0);
  const percent = Math.floor((100 * all.reduce((sum, { share }) => sum + share, 0)) / (all.length || 1));
  const key =
    wanted === undefined
      ? "entry.uploading"
      : wanted === "publish"
        ? "entry.publishesAfter"
        : "entry.savesAfter";
  return {
    text: count === 0 ? undefined : t(key, { count, percent }),
    wanted,
    save: (publish) => want(publish ? "publish" : "save"),
    add: () => want("add"),
    cancel: () => setWanted(undefined),
    report: (cell, progress) => {
      const next = new Map(newest.current);
      if (progress === undefined) next.delete(cell);
      else next.set(cell, progress);
      newest.current = next;
      setUploads(next);
    },
    isUploading: () => newest.current.size > 0,
  };
}
