export { isDue, tryDue } from "./due.ts";
export { ScheduleKeeper } from "./keeper.ts";
