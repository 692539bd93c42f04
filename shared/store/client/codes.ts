/** The broker's numbers that mean something to us. */

/** Codes of its refusals (JetStream API, `err_code`). */
export const ApiCode = {
  wrongLastSequence: 10071,
  /** Another batch with the same subject is being applied: on replicas the usual form of a conflict. */
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

/** Status of its answer where nobody listens for a request. */
export const NO_RESPONDERS = 503;
