/** Lets a save wait until the files of the form are uploaded. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Progress } from "../../files/uploads.ts";
import { t } from "../../texts/t.ts";

export interface Waiting {
  /** What is being uploaded, and whether a save waits for it. Undefined if nothing is. */
  text: string | undefined;
  /** The save that waits: `publish` or `save`. */
  wanted: "publish" | "save" | undefined;
  /** Saves now, or after the uploads. */
  save: (publish: boolean) => void;
  cancel: () => void;
  /** Reports the uploads of a cell; undefined if there are none. */
  report: (cell: string, progress: Progress | undefined) => void;
  isUploading: () => boolean;
}

/** @param save saves the form as it is at the time of the call */
export function useWaiting(save: (publish: boolean) => void): Waiting {
  const [uploads, setUploads] = useState<ReadonlyMap<string, Progress>>(new Map());
  const [wanted, setWanted] = useState<Waiting["wanted"]>();
  // An event may follow before the next render.
  const newest = useRef(uploads);
  const cells = uploads.size;
  // Runs after the render that shows the last file, so that the save includes it.
  useEffect(() => {
    if (wanted === undefined || cells > 0) return;
    setWanted(undefined);
    save(wanted === "publish");
  }, [wanted, cells]);
  const all = [...uploads.values()];
  const count = all.reduce((sum, progress) => sum + progress.count, 0);
  const percent = Math.floor((100 * all.reduce((sum, { share }) => sum + share, 0)) / (all.length || 1));
  const key =
    wanted === undefined
      ? "entry.uploading"
      : wanted === "save"
        ? "entry.savesAfter"
        : "entry.publishesAfter";
  return {
    text: count === 0 ? undefined : t(key, { count, percent }),
    wanted,
    save: (publish) => {
      if (newest.current.size === 0) save(publish);
      else setWanted(publish ? "publish" : "save");
    },
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
