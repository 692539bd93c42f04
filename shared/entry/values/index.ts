export { asAdded, withSums } from "./add.ts";
export { type Admitted, admitted, holdsMask, keepingHidden, merged, withLiveMembers } from "./admitted.ts";
export { type Localization, mergeValues, readWindow, type Window, windowFaults } from "./input.ts";
export { onlyTextsOf, withTextsOf } from "./languages.ts";
export { entryFacts, neededFaults } from "./needed.ts";
export { mergedValue, patchedField } from "./patched.ts";
export { rightsIn, type Sender, WRITE_ONLY } from "./rights.ts";
