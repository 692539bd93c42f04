/** Checks that this version can use the stored definitions of all published applications. */
import { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Finding, fail, ok } from "./finding.ts";

const NAMED = 20;

type DamagedOrb = Awaited<ReturnType<PublishedOrbs["damaged"]>>[number];

const named = (orbs: readonly DamagedOrb[]) =>
  orbs
    .slice(0, NAMED)
    .map(({ orb, at }) => (at === undefined ? orb : `${orb} (${at})`))
    .join(", ");

export async function checkOrbs(store: Store): Promise<Finding[]> {
  const silent = () => undefined;
  const deps = { store, log: { debug: silent, info: silent, warn: silent, error: silent } };
  const published = new PublishedOrbs();
  const found = await published.damaged(deps);
  const { length } = await published.list(deps);
  const newer = found.filter(({ reason }) => reason === "newer_version");
  const damaged = found.filter(({ reason }) => reason !== "newer_version");
  const findings: Finding[] = [];
  if (newer.length > 0)
    findings.push(
      fail(
        "orbs",
        `This version does not know everything in the definitions of ${named(newer)}. Their routes are 503; all other orbs work.`,
        "Start the newer version of the platform again, which stored them.",
      ),
    );
  if (damaged.length > 0)
    findings.push(
      fail(
        "orbs",
        `The stored definitions of ${named(damaged)} are damaged. Their routes are 503; all other orbs work.`,
        "Restart the platform, or read each with GET /api/admin/orbs/<id>: both restore it from the orb's history.",
      ),
    );
  return findings.length > 0
    ? findings
    : [ok("orbs", `The definitions of all ${length} published orbs can be used.`)];
}
