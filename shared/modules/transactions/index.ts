export { transactionsList } from "./list.ts";
export { recordTransaction, transactionsRecord } from "./record.ts";
export { ownHints } from "./schema.ts";
