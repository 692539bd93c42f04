/** The broker's status and error codes that the store interprets. */

/** JetStream API error codes (`err_code`). */
export const ApiCode = {
  wrongLastSequence: 10071,
  /**
   * Another batch with the same subject is being applied. On replicated streams this is the usual form of a conflict.
   */
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

/** Status of a response to a request without subscribers. */
export const NO_RESPONDERS = 503;
