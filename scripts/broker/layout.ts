import { existsSync } from "node:fs";
import { join } from "node:path";

export const brokerDir = (dataDir: string) => join(dataDir, "broker");
export const clusterDir = (dataDir: string) => join(dataDir, "cluster");

const FILES = "jetstream";
const LAYOUTS = {
  single: { dir: (dataDir: string) => join(brokerDir(dataDir), FILES), name: "a single broker (npm start)" },
  cluster: {
    dir: (dataDir: string) => join(clusterDir(dataDir), "n1", FILES),
    name: "a cluster (npm run cluster)",
  },
};

/**
 * Checks whether there is data from another setup. A single broker and a cluster use different folders, so after a
 * change of setup the earlier data is not visible.
 * @returns a warning if the other folder has data
 */
export function otherLayout(dataDir: string, brokers: number): string | undefined {
  const [own, other] = brokers > 1 ? (["cluster", "single"] as const) : (["single", "cluster"] as const);
  if (!existsSync(LAYOUTS[other].dir(dataDir))) return undefined;
  const begins = existsSync(LAYOUTS[own].dir(dataDir)) ? "has data of its own" : "begins empty";
  const it = own === "cluster" ? "the cluster" : "the single broker";
  return `This folder also holds the data of ${LAYOUTS[other].name}; ${it} ${begins}. Move it with npm run backup and restore.`;
}
