export {
  allowProgram,
  CODE_SECONDS,
  exchangeCode,
  type ProgramRequest,
  requireAllowable,
} from "./programs.ts";
export { createServiceAccount } from "./services.ts";
export {
  type ApiToken,
  createApiToken,
  getApiToken,
  getCurrentToken,
  listApiTokens,
  revokeApiToken,
  revokeCurrentToken,
  TOKEN_LIMIT,
} from "./tokens.ts";
