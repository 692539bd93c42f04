import { HTTP_HANDLERS } from "../handlers/contract/http.ts";
import type { Handler } from "../handlers/contract/types.ts";
import { rulesEvaluate } from "./rules/evaluate.ts";
import { settingsGet, settingsSet } from "./settings/handlers.ts";
import { transactionsList } from "./transactions/list.ts";
import { transactionsRecord } from "./transactions/record.ts";

export const BUILT_IN: readonly Handler[] = [
  ...HTTP_HANDLERS,
  rulesEvaluate,
  transactionsRecord,
  transactionsList,
  settingsGet,
  settingsSet,
];
