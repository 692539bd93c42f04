export { settingsGet, settingsSet } from "./handlers.ts";
