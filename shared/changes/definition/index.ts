export { type DefinitionBack, definitionBack, keepingRemoved } from "./back.ts";
export { definitionDiff } from "./compare.ts";
export { type DefinitionSides, mergeDefinitions } from "./merge.ts";
export {
  contextIn,
  type DefinitionItem,
  definitionMovedOn,
  findProposal,
  itemOf,
  type Proposal,
  parseProposal,
  proposalMessage,
  proposedContext,
  type ReadProposal,
  rightsMarks,
} from "./proposal.ts";
export { prepareRelease, Release } from "./release.ts";
