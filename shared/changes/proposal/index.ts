export {
  definitionWithin,
  type Proposed,
  proposeDefinition,
  tryProposal,
  withdrawDefinition,
} from "./propose.ts";
export { rebaseDefinition } from "./rebase.ts";
export { resealProposals } from "./reseal.ts";
export type { DefinitionWithin } from "./state.ts";
