export const ApiCode = {
  wrongLastSequence: 10071,
  /** Another batch is writing the same subject: the usual form of a conflict on replicated streams. */
  batchInProcess: 10164,
  batchIncomplete: 10176,
  batchTooMany: 10210,
  streamNotFound: 10059,
  maxPerSubject: 10077,
  subjectOverlap: 10065,
  nameInUse: 10058,
  noMessage: 10037,
  expectedStreamMismatch: 10060,
} as const;

/** Status of the response to a request that has no subscribers. */
export const NO_RESPONDERS = 503;
