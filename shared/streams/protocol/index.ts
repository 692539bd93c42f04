export { Batch } from "./batch.ts";
export { arrayOf, controlEvent, eventsOf, type Form, KEEP_ALIVE } from "./events.ts";
export { concat, encodeMessages, joinTexts, type Messages, messagesAfter, noMessages } from "./messages.ts";
export { answerCursor, currentCursor, formatOffset } from "./offset.ts";
export { parseQuery, type Query, requireKnownParameters, single } from "./query.ts";
