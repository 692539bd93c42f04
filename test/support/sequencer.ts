import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Test files that mostly wait, the slowest first: for elections, time limits, and programs that start again. */
const WAITING: readonly string[] = [
  "test/store/change-schedules.test.ts",
  "test/faults/host-built.test.ts",
  "test/faults/slow.test.ts",
  "test/faults/full-disk.test.ts",
  "test/http/access-oauth-attacks.test.ts",
  "test/faults/cluster.test.ts",
  "test/http/streams-projection.test.ts",
  "test/store/schedules.test.ts",
  "test/http/streams.test.ts",
  "test/faults/orb-loss.test.ts",
  "test/store/hooks-after.test.ts",
  "test/faults/cluster-authority.test.ts",
  "test/faults/rolling.test.ts",
  "test/faults/start-ports.test.ts",
  "test/faults/restore.test.ts",
  "test/faults/acknowledged.test.ts",
  "test/faults/service-cut.test.ts",
  "test/faults/link.test.ts",
  "test/faults/leader-contact.test.ts",
  "test/http/parameters-walk.test.ts",
  "test/store/link.test.ts",
  "test/faults/schedules.test.ts",
  "test/faults/streams.test.ts",
  "test/http/lists-hidden.test.ts",
  "test/http/streams-feed.test.ts",
  "test/http/live-lists.test.ts",
  "test/store/entry-write-windows.test.ts",
  "test/faults/hooks-restore.test.ts",
  "test/faults/silent.test.ts",
  "test/faults/start.test.ts",
  "test/browser/streams.test.ts",
  "test/contract/streams-client.test.ts",
  "test/faults/secrets.test.ts",
  "test/http/authority.test.ts",
  "test/contract/client-outage.test.ts",
  "test/store/cache-replicas.test.ts",
  "test/faults/deployment.test.ts",
  "test/store/scrub.test.ts",
  "test/faults/start-guardian.test.ts",
  "test/store/entry-write-replicas.test.ts",
  "test/http/orbs-returning.test.ts",
  "test/store/entry-bulk-taking.test.ts",
];

/** Test files that take the processor for longest. */
const LONGEST: readonly string[] = [
  "test/browser/console-entries.test.ts",
  "test/docs/guides.test.ts",
  "test/contract/package.test.ts",
  "test/contract/generated-clients.test.ts",
  "test/http/read-budget.test.ts",
  "test/browser/console-changes.test.ts",
  "test/browser/console-entry.test.ts",
  "test/contract/schemathesis.test.ts",
  "test/contract/imports.test.ts",
  "test/browser/console-comfort.test.ts",
  "test/browser/console-schema.test.ts",
  "test/contract/streams.test.ts",
  "test/browser/docs.test.ts",
  "test/contract/hostile-server.test.ts",
  "test/browser/console-words.test.ts",
  "test/browser/signin.test.ts",
  "test/browser/console-rich-text.test.ts",
  "test/store/change-size.test.ts",
  "test/browser/console-change-kept.test.ts",
  "test/faults/production.test.ts",
  "test/http/authority-orb.test.ts",
  "test/browser/console-change-edit.test.ts",
  "test/browser/console-leave.test.ts",
  "test/browser/console.test.ts",
  "test/browser/console-files.test.ts",
  "test/contract/mcp.test.ts",
  "test/browser/signin-providers.test.ts",
  "test/browser/console-handlers.test.ts",
  "test/browser/console-media.test.ts",
  "test/http/credentials-walk.test.ts",
  "test/browser/console-references.test.ts",
  "test/browser/account.test.ts",
  "test/browser/console-people.test.ts",
  "test/contract/image-corpora.test.ts",
  "test/store/split-join.test.ts",
  "test/browser/login.test.ts",
  "test/contract/imports-files.test.ts",
  "test/faults/upgrade.test.ts",
  "test/browser/console-objects.test.ts",
  "test/faults/change-readers.test.ts",
  "test/browser/account-recovery.test.ts",
  "test/http/host.test.ts",
  "test/faults/hostile.test.ts",
  "test/faults/doctor.test.ts",
  "test/browser/console-fields.test.ts",
];

/** Of so many files that start, one is a file that mostly waits, until none is left. */
const WAITING_EVERY = 3;

/**
 * Orders test files so that some wait while others use the processor, and that all workers end at about the same time,
 * even without the results of an earlier run.
 */
export class InterleavedSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const rankIn =
      (list: readonly string[]) =>
      ({ moduleId }: TestSpecification) => {
        const at = list.indexOf(relative(root, moduleId));
        return at < 0 ? list.length : at;
      };
    const [waits, length] = [rankIn(WAITING), rankIn(LONGEST)];
    const isWaiting = (file: TestSpecification) => waits(file) < WAITING.length;
    // Files that are in no list follow by size.
    const sorted = await super.sort(files);
    const waiting = sorted.filter(isWaiting).sort((a, b) => waits(a) - waits(b));
    const others = sorted.filter((file) => !isWaiting(file)).sort((a, b) => length(a) - length(b));
    const ordered: TestSpecification[] = [];
    for (let at = 0; ordered.length < files.length; at++) {
      const next = at % WAITING_EVERY === 0 ? waiting.shift() : others.shift();
      if (next !== undefined) ordered.push(next);
    }
    return ordered;
  }
}
