import { describe, expect, it } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { HOOK_LIMITS } from "../../shared/definition/document/hooks.ts";
import { BUILT_IN_SERVICES } from "../../shared/definition/document/ids.ts";
import { summarise } from "../../shared/definition/document/summary.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { BUILT_IN } from "../../shared/modules/builtin.ts";

const HOOK = { id: "check", on: ["entry.created"], module: "shop", handler: "stock.check", mode: "before" };
const withHooks = (...hooks: object[]) => ({
  id: "market",
  uses: [
    { service: "stock", handlers: ["check"] },
    { service: "rules", handlers: ["evaluate"] },
  ],
  hooks,
  modules: [
    { id: "shop", type: "CONTENT", schemas: [{ id: "order", fields: [] }] },
    { id: "prefs", type: "SETTINGS", schemas: [{ id: "look", fields: [] }] },
  ],
});

/** Faults of a document, as `path code`. */
function faultsOf(document: object): string[] {
  try {
    checkDocument(document);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.errors ?? []).map(({ path, code }) => `${path} ${code}`);
  }
}

describe("hooks of a document", () => {
  it("are valid if they name what the document has", () => {
    const everything = { ...HOOK, id: "all", module: undefined, required: false };
    expect(faultsOf(withHooks(HOOK, everything, { ...HOOK, id: "one", schema: "order" }))).toEqual([]);
    const webhook = { id: "post", on: ["entry.created"], url: "https://example.org/hook?a=b" };
    expect(faultsOf(withHooks(webhook, { ...HOOK, mode: "after" }))).toEqual([]);
    const mentioned = { ...webhook, on: ["change.mentioned"] };
    expect(faultsOf(withHooks(mentioned))).toEqual([]);
    const on = ["change.review", "change.approved", "change.published"];
    expect(
      faultsOf(withHooks({ ...webhook, on }, { ...HOOK, on, module: undefined, mode: "after" })),
    ).toEqual([]);
  });

  it.each<[string, object, string]>([
    ["an id that is taken", { ...HOOK }, "/hooks/1/id duplicate"],
    ["an event twice", { on: ["entry.created", "entry.created"] }, "/hooks/1/on/1 duplicate"],
    ["no event", { on: [] }, "/hooks/1/on too_few"],
    ["an unknown event", { on: ["entry.read"] }, "/hooks/1/on/0 enum"],
    ["an unknown module", { module: "attic" }, "/hooks/1/module unknown_module"],
    ["an unknown schema", { schema: "attic" }, "/hooks/1/schema unknown_schema"],
    ["a schema without a module", { module: undefined, schema: "order" }, "/hooks/1/module required"],
    ["a handler that is not in uses", { handler: "stock.count" }, "/hooks/1/handler unknown_handler"],
    ["a built-in handler", { handler: "rules.evaluate" }, "/hooks/1/handler not_applicable"],
    ["no handler name", { handler: "stock" }, "/hooks/1/handler format"],
    ["a module of settings", { module: "prefs" }, "/hooks/1/module not_applicable"],
    [
      "mentions beside other events of change sets",
      { on: ["change.review", "change.mentioned"], module: undefined, mode: "after" },
      "/hooks/1/on/1 not_applicable",
    ],
    ["neither a handler nor a url", { handler: undefined }, "/hooks/1/handler required"],
    ["a handler and a url", { url: "https://example.org/" }, "/hooks/1/url not_applicable"],
    ["a handler without a mode", { mode: undefined }, "/hooks/1/mode required"],
    [
      "a webhook before writes",
      { handler: undefined, url: "https://a.example/" },
      "/hooks/1/mode not_applicable",
    ],
    ["an address that is not https", { url: "http://example.org/" }, "/hooks/1/url format"],
    ["an address with a password", { url: "https://a:b@example.org/" }, "/hooks/1/url format"],
    ["required after writes", { mode: "after", required: true }, "/hooks/1/required not_applicable"],
    ["an unknown mode", { mode: "during" }, "/hooks/1/mode enum"],
    [
      "events of entries and of change sets",
      { on: ["entry.created", "change.review"] },
      "/hooks/1/on/1 not_applicable",
    ],
    ["a change set before the write", { on: ["change.review"] }, "/hooks/1/mode not_applicable"],
    [
      "a module for change sets",
      { on: ["change.published"], mode: "after" },
      "/hooks/1/module not_applicable",
    ],
    ["an unknown property", { when: "now" }, "/hooks/1/when unknown_property"],
  ])("are refused with %s", (_what, change, fault) => {
    const hook = { ...HOOK, id: "second", ...change };
    expect(faultsOf(withHooks(HOOK, hook))).toContain(fault);
  });

  it("are at most as many as the limit", () => {
    const hooks = Array.from({ length: HOOK_LIMITS.hooks + 1 }, (_, i) => ({ ...HOOK, id: `h${i}` }));
    expect(faultsOf(withHooks(...hooks.slice(1)))).toEqual([]);
    expect(faultsOf(withHooks(...hooks))).toContain("/hooks too_many");
  });

  it("appear in the summary of a change by their id", () => {
    const document = (...hooks: object[]) => checkDocument(withHooks(...hooks)).document;
    expect(summarise(document(), document(HOOK))).toEqual(["added hook check"]);
    expect(summarise(document(HOOK), document({ ...HOOK, required: false }))).toEqual([
      "hook check: required none → false",
    ]);
    expect(summarise(document(HOOK), document())).toEqual(["removed hook check"]);
  });

  it("cannot name any service that is built in", () => {
    const services = new Set(BUILT_IN.map(({ name }) => name.split(".")[0]));
    expect([...services].sort()).toEqual([...BUILT_IN_SERVICES].sort());
  });
});
