import { describe, expect, test } from "vitest";
import { isCurrent, open, seal } from "../../shared/kernel/seal.ts";

const key = (kid: string, byte: number) => ({ kid, k: Buffer.alloc(32, byte).toString("base64url") });
const OLD = JSON.stringify([key("old", 1)]);
const ROTATED = JSON.stringify([key("new", 2), key("old", 1)]);

describe("sealing", () => {
  test("opens a sealed value only with its binding", async () => {
    const sealed = await seal(OLD, "geheim ✓", "shop/1/card");
    expect(sealed).not.toContain("geheim");
    expect(await open(OLD, sealed, "shop/1/card")).toBe("geheim ✓");
    expect(await open(OLD, sealed, "shop/2/card")).toBeNull();
    expect(await seal(OLD, "geheim ✓", "shop/1/card")).not.toBe(sealed);
  });

  test("seals with the first key and still opens with the older one", async () => {
    const before = await seal(OLD, "x", "b");
    expect(await open(ROTATED, before, "b")).toBe("x");
    expect(isCurrent(ROTATED, before)).toBe(false);
    const after = await seal(ROTATED, "x", "b");
    expect(isCurrent(ROTATED, after)).toBe(true);
    expect(await open(OLD, after, "b")).toBeNull();
  });

  test("does not open an altered, moved or invented value", async () => {
    const [head = "", ...rest] = (await seal(OLD, "x", "a")).split(".");
    const header = JSON.parse(Buffer.from(head, "base64url").toString());
    const moved = Buffer.from(JSON.stringify({ ...header, bind: "b" })).toString("base64url");
    expect(await open(OLD, [moved, ...rest].join("."), "b")).toBeNull();
    const flipped = (rest[2] ?? "").startsWith("A") ? "B" : "A";
    expect(await open(OLD, [head, rest[0], rest[1], flipped, rest[3]].join("."), "a")).toBeNull();
    for (const nonsense of ["", ".", "....", "x.y.z", "{}"])
      expect(await open(OLD, nonsense, "a")).toBeNull();
  });

  test("refuses keys of the wrong length", async () => {
    await expect(seal(JSON.stringify([{ kid: "a", k: "AAAA" }]), "x", "b")).rejects.toThrow("256 bits");
    await expect(seal("[]", "x", "b")).rejects.toThrow("256 bits");
  });
});
