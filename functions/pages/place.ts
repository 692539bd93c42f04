/** Places on the page where messages can appear. Each is next to the buttons that it belongs to. */
export type Place =
  | "enter"
  | "program"
  | "token"
  | "passkeys"
  | "identities"
  | "codes"
  | "sessions"
  | "tokens";
