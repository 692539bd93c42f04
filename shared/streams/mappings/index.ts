export {
  deleteMapping,
  filterFor,
  getMapping,
  isOfOrb,
  listMappings,
  type Mapping,
  putMapping,
} from "./mapping.ts";
export { isServed, lossHeadersOf, servedAs, servedMappings } from "./served.ts";
