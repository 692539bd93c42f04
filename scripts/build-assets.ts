/** Copies the static files of the web pages. wrangler starts this script before it bundles the code. */
import { copyAssets } from "./host/assets.ts";

copyAssets();
