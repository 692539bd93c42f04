/** Uploads the files that a user chooses for a field, one after another. */
import { useRef, useState } from "preact/hooks";
import { uploadFile } from "../api/files.ts";
import { pathOf } from "../api/http.ts";
import type { FieldModel } from "../model/orb.ts";
import { t, withCommas } from "../texts/t.ts";
import { wordsOf } from "../ui/problem.tsx";

/** The files of a field that are being uploaded. */
export interface Progress {
  /** The name of the file that is being sent. */
  name: string;
  /** The fraction of all bytes that is stored, from 0 to 1. */
  share: number;
  count: number;
}

export interface Uploads {
  progress: Progress | undefined;
  /** Why files were not stored, one message for each. */
  faults: readonly string[];
  send: (files: Iterable<File>) => void;
  /** Removes the messages. */
  dismiss: () => void;
}

/** Returns whether a type matches one of the accepted ones, such as `image/*` or `application/pdf`. */
export function accepts(accept: readonly string[], type: string): boolean {
  return accept.some((each) => each === type || (each.endsWith("/*") && type.startsWith(each.slice(0, -1))));
}

/**
 * @param onStored called with the value of each stored file
 * @param onProgress called when an upload begins, advances, and with undefined when the last one ends
 * @param onFault called with the first message, or undefined if there is none
 */
export function useUploads({
  orb,
  field,
  disabled,
  onStored,
  onProgress,
  onFault,
}: {
  orb: string;
  field: FieldModel;
  disabled: boolean;
  onStored: (value: object) => void;
  onProgress: ((progress: Progress | undefined) => void) | undefined;
  onFault: ((message: string | undefined) => void) | undefined;
}): Uploads {
  const [progress, setProgress] = useState<Progress>();
  const [faults, setFaults] = useState<readonly string[]>([]);
  const waiting = useRef<File[]>([]);
  const running = useRef(false);
  const stored = useRef(onStored);
  stored.current = onStored;
  const report = (next: Progress | undefined) => {
    setProgress(next);
    onProgress?.(next);
  };
  const found = useRef<readonly string[]>([]);
  const tell = (messages: readonly string[]) => {
    found.current = messages;
    setFaults(messages);
    onFault?.(messages[0]);
  };

  async function one(file: File, advance: (share: number) => void): Promise<string | undefined> {
    const { name, size } = file;
    const { accept, maxSize } = field;
    if (maxSize !== undefined && size > maxSize) return t("fields.tooLarge", { max: maxSize, size });
    const { id, type, animated } = await uploadFile(orb, file, advance);
    // The platform has detected the type from the content, so it can be checked only after the upload.
    if (accept !== undefined && !accepts(accept, type))
      return t("fields.wrongType", { types: withCommas(accept), type });
    const url = pathOf("api", orb, "files", id);
    stored.current({ file: id, name, url, type, size, ...(animated === true ? { animated } : {}) });
    return undefined;
  }

  async function run(): Promise<void> {
    running.current = true;
    let [done, count] = [0, 0];
    for (let file = waiting.current.shift(); file !== undefined; file = waiting.current.shift()) {
      const { name, size } = file;
      count++;
      const all = done + size + waiting.current.reduce((sum, next) => sum + next.size, 0);
      const advance = (share: number) =>
        report({ name, share: (done + share * size) / (all || 1), count: count + waiting.current.length });
      advance(0);
      const fault = await one(file, advance).catch(wordsOf);
      if (fault !== undefined)
        tell([...found.current, count > 1 || field.list === true ? `${name}: ${fault}` : fault]);
      done += size;
    }
    running.current = false;
    report(undefined);
  }

  return {
    progress,
    faults,
    send: (files) => {
      if (disabled) return;
      waiting.current.push(...files);
      if (waiting.current.length === 0 || running.current) return;
      tell([]);
      void run();
    },
    dismiss: () => tell([]),
  };
}
