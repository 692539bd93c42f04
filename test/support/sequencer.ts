import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The slowest test files, longest first. They start first, so that no worker runs one of them alone at the end. Files
 * that are not listed follow by size.
 */
const LONGEST: readonly string[] = [
  "test/faults/slow.test.ts",
  "test/contract/schemathesis.test.ts",
  "test/http/read-budget.test.ts",
  "test/http/authority-orb.test.ts",
  "test/http/streams-projection.test.ts",
  "test/docs/guides.test.ts",
  "test/faults/production.test.ts",
  "test/faults/restore.test.ts",
  "test/contract/streams.test.ts",
  "test/faults/rolling.test.ts",
  "test/http/streams.test.ts",
  "test/http/live-lists.test.ts",
  "test/http/credentials-walk.test.ts",
  "test/http/host.test.ts",
  "test/contract/package.test.ts",
  "test/contract/openapi.test.ts",
  "test/faults/cluster-authority.test.ts",
  "test/contract/mcp.test.ts",
  "test/contract/deploy.test.ts",
  "test/faults/backup.test.ts",
  "test/faults/cluster.test.ts",
  "test/store/numbered-log.test.ts",
  "test/http/quotas.test.ts",
  "test/http/answer-file.test.ts",
  "test/faults/acknowledged.test.ts",
  "test/faults/leader-contact.test.ts",
  "test/faults/schedules.test.ts",
  "test/faults/silent.test.ts",
  "test/faults/hostile.test.ts",
  "test/faults/link.test.ts",
];

/** Orders test files so that all workers end at about the same time, even without the results of an earlier run. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.indexOf(relative(root, moduleId));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
