import { expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { guard } from "../../shared/entry/model/messages.ts";
import { Conflict } from "../../shared/store/types.ts";

const address = { orb: "shop", ...homeOf("CONTENT", "note"), id: "1" } as const;
const hints = [{ subject: "shop.a", data: "1" }];

it("merges equal conditions on one subject, and fails with a conflict if they differ", () => {
  const target = { subject: "shop.t", seq: 10 };
  const same = guard(address, hints, [target, { ...target }]);
  expect(same).toEqual([{ subject: "shop.a", data: "1", expect: target }]);
  expect(() => guard(address, hints, [target, { ...target, seq: 11 }])).toThrow(Conflict);
});
