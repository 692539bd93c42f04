export {
  codeRefused,
  createRecoveryCodes,
  findByCode,
  recoveryCodesOf,
  requireCodes,
  voidAllCodes,
} from "./codes.ts";
export { finishRecoveries } from "./finish.ts";
export { createRecovery } from "./links.ts";
export { checkInvitation, requireOpen, requireRecoverable } from "./usable.ts";
