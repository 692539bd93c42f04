export { type BatchInput, type BatchResult, type BatchWritten, writeBatch } from "./batch.ts";
export type { TogetherDestination } from "./destination.ts";
export { type BatchItem, MOST_ITEMS } from "./items.ts";
export { type AdmittedChange, Planning, type PlanningOptions, type Together } from "./planning.ts";
export { Refusals } from "./refusals.ts";
