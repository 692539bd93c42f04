import { PREFIXES } from "../http/prefixes.ts";
import { newRouter } from "../http/router.ts";
import { entryChangeRoutes, entryMoveRoutes, entryWriteRoutes } from "./entries.ts";
import { entryBulkRoutes, entryManyRoutes } from "./entries-bulk.ts";
import { entryRekeyRoutes } from "./entries-rekey.ts";
import { entryReadRoutes } from "./entry-reads.ts";
import { entryRevisionRoutes } from "./entry-revisions.ts";

export function adminEntryRoutes() {
  const router = newRouter();
  for (const prefix of PREFIXES) {
    router.route("/", entryBulkRoutes(prefix));
    router.route("/", entryReadRoutes(prefix));
    router.route("/", entryManyRoutes(prefix));
    router.route("/", entryChangeRoutes(prefix));
    router.route("/", entryWriteRoutes(prefix));
    router.route("/", entryMoveRoutes(prefix));
    router.route("/", entryRevisionRoutes(prefix));
    router.route("/", entryRekeyRoutes(prefix));
  }
  return router;
}
