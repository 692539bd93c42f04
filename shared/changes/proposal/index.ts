export {
  type DefinitionWithin,
  definitionWithin,
  type Proposed,
  proposeDefinition,
  tryProposal,
  withdrawDefinition,
} from "./propose.ts";
export { resealProposals } from "./reseal.ts";
