export { isCounted } from "./pages.ts";
export { countLive, scanLive } from "./scan.ts";
export { completeLive, liveIndexOf, openLiveTended, tendPassed, tendWritten } from "./upkeep.ts";
