export { ApiCode, NO_RESPONDERS } from "./codes.ts";
export { Connection, type ConnectOptions } from "./connection.ts";
export {
  CachedMessage,
  isDeletionMarker,
  KV_OPERATION,
  kvEntry,
  type LeaderAnswer,
  leaderMessage,
  Message,
  ResponseHeaders,
} from "./message.ts";
export { brokerTimeout } from "./pending-requests.ts";
export { mostBytes } from "./publish.ts";
export type { BrokerSocket } from "./socket.ts";
