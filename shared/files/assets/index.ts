export {
  ASSET_LIMITS,
  type Asset,
  type AssetChange,
  assetRevision,
  fileChange,
  nextAsset,
  type Texts,
  textIn,
} from "./asset.ts";
