export {
  type Asset,
  type AssetChange,
  assetRevision,
  fileChange,
  nextAsset,
  type Texts,
  textIn,
} from "./asset.ts";
export { ASSET_LIMITS } from "./limits.ts";
export {
  checkTagCount,
  idsOfTag,
  readTags,
  registerTags,
  shownTags,
  type TagNames,
  tagName,
  tagNames,
  tagsIn,
  tagsMessage,
} from "./tags.ts";
