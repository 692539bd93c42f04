import { type Handler, HTTP_HANDLERS } from "../handlers/contract/index.ts";
import { rulesEvaluate } from "./rules/index.ts";
import { settingsGet, settingsSet } from "./settings/index.ts";
import { transactionsList, transactionsRecord } from "./transactions/index.ts";

export const BUILT_IN: readonly Handler[] = [
  ...HTTP_HANDLERS,
  rulesEvaluate,
  transactionsRecord,
  transactionsList,
  settingsGet,
  settingsSet,
];
