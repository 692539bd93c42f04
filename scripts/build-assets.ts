/** Copies static files of the pages. wrangler runs this before it bundles (see wrangler.toml). */
import { copyAssets } from "./host/assets.ts";

copyAssets();
