/** wrangler runs this before it bundles (see wrangler.toml): copies static files of the pages. */
import { copyAssets } from "./host/assets.ts";

copyAssets();
