/** Every list takes `limit`: its pages have that many items, and together they have each item once, in order. */
import { beforeAll, expect, test } from "vitest";
import { operationsOf, resolvedParameter } from "../../functions/discovery/document.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { createOrb, small } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
let entry: string;
const ORB = "pages";
const SIZES = [1, 2, 3];
/** Sizes of the pages of a list that is longer than all that a test makes of one kind. */
const LONG_SIZES = [9, 20];

/** Stores what the hooks process stores: deliveries that wait, all of a hook in one message, and finished ones. */
async function storeDeliveries(): Promise<void> {
  const store = platform.operatorStore();
  const append = (subject: string, body: object) =>
    store.append(streams.hooks, { subject, data: JSON.stringify(body) });
  const record = (seq: number, error?: string) => ({
    v: 1,
    seq,
    event: "entry.created",
    module: "news",
    schema: "post",
    entry: "0abcdefghij",
    revision: 1,
    attempts: 1,
    at: new Date(0).toISOString(),
    ...(error === undefined ? {} : { error }),
  });
  for (const hook of ["first", "second", "third"]) {
    const waiting = Array.from({ length: hook === "second" ? 0 : 7 }, (_, i) => ({
      seq: i + 1,
      entry: `0abcdefghi${i}`,
      attempts: 1,
      at: 1,
    }));
    await append(subjects.hookState(ORB, hook), { v: 1, cursor: 9, waiting });
    await append(subjects.hookDone(ORB, hook), record(20));
    await append(subjects.hookFailed(ORB, hook, 21), record(21, "refused"));
  }
}

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  for (const id of [ORB, "pages-a", "pages-b", "pages-c"]) await createOrb(platform, token, small(id));
  for (let i = 0; i < 7; i++) {
    const body = { values: { title: `post ${i}` } };
    const made = await call(platform, "POST", `/api/${ORB}/news?publish=true`, { token, body });
    entry = made.body.id;
  }
  for (let i = 0; i < 5; i++) {
    const body = { values: { title: `again ${i}` } };
    await call(platform, "PUT", `/api/${ORB}/news/${entry}`, { token, body });
  }
  for (let i = 0; i < 5; i++) {
    await call(platform, "PUT", `/api/admin/orbs/${ORB}`, {
      token,
      body: { ...small(ORB), name: `Pages ${i}` },
    });
    await user(platform);
  }
  await storeDeliveries();
});

interface Listed {
  items?: unknown[];
  /** Member of the overview, which has further members beside the list. */
  orbs?: unknown[];
  nextCursor: string | null;
}

/** Reads all pages of a list. */
async function pagesOf(path: string, limit: number): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await call(platform, "GET", `${path}limit=${limit}${more}`, { token });
    expect([path, status]).toEqual([path, 200]);
    const page = body as Listed;
    pages.push(page.items ?? page.orbs ?? []);
    cursor = page.nextCursor;
  } while (cursor !== null && pages.length < 200);
  return pages;
}

/** Further parameters of some lists, to walk them in other ways too. */
const VARIANTS: Record<string, readonly string[]> = {
  listDeliveries: ["", "status=waiting&", "status=failed&", "status=delivered&"],
  listAudit: ["", "sort=at&", "filter[outcome]=ok&"],
  listEntries: ["", "module=news&schema=post&sort=-title&", "filter[updatedBy][ne]=nobody&"],
};

test("every list holds its limit, and its pages have each item once", async () => {
  const document = await describedWhole(platform, [ORB]);
  const walked = new Set<string>();
  for (const { path, method, operation } of operationsOf(document.paths)) {
    const names = (operation.parameters ?? []).map((one) => resolvedParameter(document, one).name);
    const takes = names.includes("limit") && names.includes("cursor");
    if (method.toLowerCase() !== "get" || !takes) continue;
    const at = path
      .replace("{orbId}", ORB)
      .replace("{orb}", ORB)
      .replace("{module}", "news")
      .replace("{schema}", "post")
      .replace(/\{(id|entryId)\}/, entry);
    // A live list has no pages, and a list of the users of an orb without own users does not exist.
    const probe = await call(platform, "GET", at, { token });
    if (probe.status !== 200) continue;
    for (const variant of VARIANTS[operation.operationId] ?? [""]) {
      const list = `${at}?${variant}`;
      const whole = (await pagesOf(list, 100)).flat();
      for (const limit of whole.length > 20 ? LONG_SIZES : SIZES) {
        const pages = await pagesOf(list, limit);
        const full = pages.slice(0, -1).every((page) => page.length === limit);
        expect([list, limit, full, (pages.at(-1)?.length ?? 0) <= limit]).toEqual([list, limit, true, true]);
        expect(pages.flat()).toEqual(whole);
      }
      if (whole.length >= 3) walked.add(operation.operationId);
    }
  }
  expect([...walked]).toEqual(expect.arrayContaining(["listDeliveries", "listAudit", "listEntries"]));
  expect(walked.size).toBeGreaterThanOrEqual(6);
});
