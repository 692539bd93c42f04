export { rulesEvaluate } from "./evaluate.ts";
