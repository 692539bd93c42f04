export {
  ASSET_LIMITS,
  type Asset,
  assetRevision,
  fileChange,
  nextAsset,
  type Texts,
  textIn,
} from "./asset.ts";
