export { type Change, changesFilter, changesIn } from "./changes.ts";
export { effectOf, type ListEvent, type ListView, type LiveEntry } from "./judge.ts";
export { type SnapshotPage, type SnapshotRest, snapshotOfList } from "./snapshot.ts";
