export { Definitions } from "./definitions.ts";
export { readBacklog, readHookFigures } from "./figures.ts";
export { TAKEOVER_MS } from "./lease.ts";
export { DELIVERY_STATUS, listDeliveries, redeliver, workerState } from "./list.ts";
export { listSchedules } from "./schedules.ts";
export { renewSecret, resealSecrets } from "./secrets.ts";
export type { HookState } from "./stored.ts";
export type { Post } from "./webhook.ts";
export { HookWorker } from "./worker.ts";
