export { withGroupCommit } from "./group-commit.ts";
export {
  createFileStream,
  createOrbStream,
  feedSubject,
  LIMIT_WINDOW_SECONDS,
  platformStreamNames,
  platformStreams,
  provision,
  republishedFilter,
} from "./provision.ts";
export { MULTI_LAST_LIMIT } from "./read.ts";
export { baseConfig, listBucket, type OpenStore, openStore } from "./store.ts";
