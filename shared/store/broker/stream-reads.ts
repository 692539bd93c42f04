import { ApiCode } from "../client/index.ts";
import { type Store, type StreamInfo, TooMuch } from "../types.ts";
import { failure } from "./write.ts";

/** An answer of JetStream's API. */
export interface ApiAnswer {
  error?: { code: number; err_code: number; description: string };
  [member: string]: unknown;
}

/** Subjects are missing if no subject matches. `total` is missing if all of them are in the answer. */
interface SubjectsAnswer {
  state: { bytes: number; subjects?: Record<string, number> };
  total?: number;
}

/** Returns the methods of the store that ask about streams instead of messages. @param api sends a request to JetStream */
export function streamReads(
  api: (subject: string, body: unknown) => Promise<ApiAnswer>,
): Pick<Store, "streamInfo" | "subjects" | "streamNames"> {
  return {
    async streamInfo(stream) {
      const answer = await api(`STREAM.INFO.${stream}`, undefined);
      if (answer.error === undefined) return answer as unknown as StreamInfo;
      if (answer.error.err_code === ApiCode.streamNotFound) return null;
      throw failure(stream, answer.error);
    },
    async subjects(stream, filter) {
      const answer = await api(`STREAM.INFO.${stream}`, { subjects_filter: filter });
      if (answer.error !== undefined) throw failure(stream, answer.error);
      const { state, total } = answer as unknown as SubjectsAnswer;
      const subjects = Object.keys(state.subjects ?? {});
      if ((total ?? 0) > subjects.length) throw new TooMuch();
      return { subjects, bytes: state.bytes };
    },
    async streamNames(filter) {
      const answer = await api("STREAM.NAMES", { subject: filter });
      if (answer.error !== undefined) throw failure(filter, answer.error);
      return (answer.streams as string[] | null | undefined) ?? [];
    },
  };
}
