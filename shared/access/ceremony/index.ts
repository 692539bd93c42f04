export { begin, beginAdding, type CeremonyStart } from "./begin.ts";
export { consumeOnce } from "./challenges.ts";
export { complete } from "./complete.ts";
export { activated, enter } from "./login.ts";
export type { Means } from "./means.ts";
export { registerInvited } from "./register.ts";
export { registerOpen } from "./signup.ts";
