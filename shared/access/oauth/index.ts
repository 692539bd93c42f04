export { beginLink, beginOAuth, type OAuthStart } from "./begin.ts";
export { finishOAuth, type Profile } from "./finish.ts";
export { listIdentities, unlink } from "./identities.ts";
export { endOfState, STATE_SECONDS } from "./state.ts";
