/** Run by wrangler before it bundles (wrangler.toml): the files of the pages that are not part of the functions. */
import { copyAssets } from "./host/assets.ts";

copyAssets();
