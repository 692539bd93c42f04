/** Pages of the audit log if the filters match unevenly. */
import { expect, test } from "vitest";
import { listAudit } from "../../shared/access/audit-log.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { admin, fileDeps, type TestDeps } from "../support/entries.ts";

const { deps } = await fileDeps();

/** Appends records of one action. */
async function record(action: string, count: number): Promise<void> {
  const at = new Date().toISOString();
  const one = { v: 1, at, realm: "auth", action, actor: "ann", target: null, outcome: "ok", detail: null };
  const data = JSON.stringify({ ...one, requestId: "r", client: "c" });
  const messages = Array.from({ length: count }, () => ({ subject: subjects.audit("auth", action), data }));
  for (let i = 0; i < count; i += 1_000) {
    await deps.store.pipeline(streams.platform, messages.slice(i, i + 1_000));
  }
}

test("reads a bounded number of records for a page, newest first, and misses none", async () => {
  await record("signin", 6_000);
  await record("signout", 12_000);
  await record("signin", 3);
  let most = 0;
  let inOnePage = 0;
  const scan: TestDeps["store"]["scan"] = async (...args) => {
    const page = await deps.store.scan(...args);
    inOnePage += page.messages.length;
    most = Math.max(most, inOnePage);
    return page;
  };
  const counting = { ...deps, store: { ...deps.store, scan } };
  const ids: string[] = [];
  for (let from: number | undefined; ; ) {
    inOnePage = 0;
    const query = { action: "signin", newestFirst: true, limit: 200, from };
    const page = await listAudit(counting, admin, query);
    ids.push(...page.items.map(({ id }) => id));
    if (page.next === null) break;
    from = page.next;
  }
  expect(ids).toHaveLength(6_003);
  expect(new Set(ids).size).toBe(6_003);
  expect(ids.map(Number)).toEqual(ids.map(Number).toSorted((a, b) => b - a));
  expect(most).toBeLessThan(12_000);
});
