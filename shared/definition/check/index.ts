export { checkDocument } from "./check.ts";
