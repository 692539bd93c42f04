export { exportOrb } from "./export.ts";
export { importOrb } from "./import.ts";
