export { typeOfBinary } from "./binary.ts";
export { markupOf } from "./markup.ts";
export { singleByteText, textIn } from "./text.ts";
