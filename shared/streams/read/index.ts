export { Hub, type HubOptions, type TimerListener } from "./hub.ts";
export { DEFAULT_LIMITS, DEFAULT_TIMES } from "./limits.ts";
export { waitFor } from "./long-poll.ts";
export type { StreamPage, StreamState } from "./page.ts";
export { type OpenReader, Reader, type ReaderEnd, type Sink } from "./reader.ts";
export { beginningOf, checkRetained, type PageLimit, type PageStart } from "./source.ts";
export { type Listener, type Step, Tail, type TailEnd } from "./tail.ts";
