export const ApiCode = {
  wrongLastSequence: 10071,
  /**
   * Another batch is writing to the same subject. In a cluster with several replicas, most write conflicts have this
   * code.
   */
  batchInProcess: 10164,
  batchIncomplete: 10176,
  batchTooLarge: 10199,
  batchTooMany: 10210,
  streamNotFound: 10059,
  maxPerSubject: 10077,
  subjectOverlap: 10065,
  nameInUse: 10058,
  noMessage: 10037,
  expectedStreamMismatch: 10060,
} as const;

/** Status code of the broker's reply if no program is subscribed to the subject of a request. */
export const NO_RESPONDERS = 503;
