import { describe, expect, it } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { cronFault, SCHEDULE_LIMITS } from "../../shared/definition/document/schedules.ts";
import { summarise } from "../../shared/definition/document/summary.ts";
import { AppError } from "../../shared/kernel/errors.ts";

const SCHEDULE = { id: "nightly", cron: "0 0 3 * * *", handler: "reports.send" };
const withSchedules = (...schedules: object[]) => ({
  id: "market",
  uses: [
    { service: "reports", handlers: ["send"] },
    { service: "rules", handlers: ["evaluate"] },
  ],
  hooks: [{ id: "hear", on: ["entry.created"], handler: "reports.send", mode: "after" }],
  schedules,
  modules: [],
});

function faultsOf(document: object): string[] {
  try {
    checkDocument(document);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.errors ?? []).map(({ path, code }) => `${path} ${code}`);
  }
}

describe("a cron expression", () => {
  it.each([
    "* * * * * *",
    "*/5 0-30/10 9,17 ? JAN-MAR,dec *",
    "0 30 9 * * MON-FRI",
    "0 0 0 29 2 *",
    "0 0 0 31 2 MON",
    "0 5/20 * 1 * 0-6",
  ])("is accepted: %s", (cron) => {
    expect(cronFault(cron)).toBeUndefined();
  });

  it.each([
    ["30 9 * * *", /six fields/],
    ["@daily", /six fields/],
    ["0  0 9 * * *", /six fields/],
    ["60 * * * * *", /valid second/],
    ["0 0 24 * * *", /valid hour/],
    ["0 0 0 0 * *", /valid day of the month/],
    ["0 0 0 L * *", /valid day of the month/],
    ["0 0 0 * 13 *", /valid month/],
    ["0 0 0 * * 7", /valid day of the week.*sun to sat/],
    ["0 0 0 * * FRI-MON", /valid day of the week/],
    ["*/0 * * * * *", /valid second/],
    ["0 1,,2 * * * *", /valid minute/],
    ["0 0 0 31 4,FEB *", /none of its months/],
    ["0 0 0 30 2 */1", /none of its months/],
  ])("is refused with an example: %s", (cron, fault) => {
    expect(cronFault(cron)).toMatch(fault);
    expect(cronFault(cron)).toContain('"0 30 9 * * MON-FRI" is 9:30 on working days.');
  });
});

describe("schedules of a document", () => {
  it("are valid with any input and a time zone", () => {
    const berlin = { ...SCHEDULE, id: "berlin", timeZone: "Europe/Berlin", input: { to: ["a"] } };
    const utc = { ...SCHEDULE, id: "utc", timeZone: "UTC", input: 5 };
    expect(faultsOf(withSchedules(SCHEDULE, berlin, utc))).toEqual([]);
  });

  it.each<[string, object, string]>([
    ["an id that is taken", { id: "nightly" }, "/schedules/1/id duplicate"],
    ["the id of a hook", { id: "hear" }, "/schedules/1/id duplicate"],
    ["a wrong expression", { cron: "often" }, "/schedules/1/cron format"],
    ["no expression", { cron: undefined }, "/schedules/1/cron required"],
    ["an offset as time zone", { timeZone: "+01:00" }, "/schedules/1/timeZone format"],
    ["an unknown time zone", { timeZone: "Europe/Atlantis" }, "/schedules/1/timeZone format"],
    ["a handler that is not in uses", { handler: "reports.count" }, "/schedules/1/handler unknown_handler"],
    ["a built-in handler", { handler: "rules.evaluate" }, "/schedules/1/handler not_applicable"],
    ["no handler", { handler: undefined }, "/schedules/1/handler required"],
    ["an unknown property", { when: "now" }, "/schedules/1/when unknown_property"],
  ])("are refused with %s", (_what, change, fault) => {
    const changed = { ...SCHEDULE, id: "second", ...change };
    expect(faultsOf(withSchedules(SCHEDULE, changed))).toContain(fault);
  });

  it("are at most as many as the limit", () => {
    const many = Array.from({ length: SCHEDULE_LIMITS.schedules + 1 }, (_, i) => ({
      ...SCHEDULE,
      id: `s${i}`,
    }));
    expect(faultsOf(withSchedules(...many.slice(1)))).toEqual([]);
    expect(faultsOf(withSchedules(...many))).toContain("/schedules too_many");
  });

  it("appear in the summary of a change by their id", () => {
    const document = (...schedules: object[]) => checkDocument(withSchedules(...schedules)).document;
    expect(summarise(document(), document(SCHEDULE))).toEqual(["added schedule nightly"]);
    expect(summarise(document(SCHEDULE), document({ ...SCHEDULE, cron: "0 0 4 * * *" }))).toEqual([
      "schedule nightly: cron 0 0 3 * * * → 0 0 4 * * *",
    ]);
    expect(summarise(document(SCHEDULE), document())).toEqual(["removed schedule nightly"]);
  });
});
