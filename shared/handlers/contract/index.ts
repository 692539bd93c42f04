export type { Acting, EntryPlace } from "./acting.ts";
export { type FaultyEntry, isFaulty, readEntry, splitName } from "./entry.ts";
export { type DescribedRoute, describedRoutes, type FurtherHttpHandler, HTTP_HANDLERS } from "./http.ts";
export { HTTP_METHODS, namesIn } from "./http-entry.ts";
export { HTTP_BODY_LIMIT, HTTP_EXCHANGE_MS, HTTP_PART_BYTES } from "./http-limits.ts";
export { type HttpPartMessage, type HttpRequestMessage, NEXT } from "./http-messages.ts";
export { type KitCall, ServiceError, serve } from "./kit.ts";
export { capturingStreams, requireUncaptured } from "./subject.ts";
export { moduleOf, requireUsing, schemaOf, TARGET_INPUT } from "./target.ts";
export {
  ANSWER_LIMIT,
  type Caller,
  HANDLER_AUTH,
  HANDLER_KINDS,
  type Handler,
  type HandlerCredential,
  type HandlerDeps,
  type HttpHandler,
  isRemote,
  type LocalCall,
  type LocalHandler,
  type RemoteHandler,
  type RemoteHttpHandler,
} from "./types.ts";
