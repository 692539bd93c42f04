import { createHash, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { Sha256 } from "../../shared/files/sha256.ts";

it("computes SHA-256, also when another process goes on with the stored state", () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 4_096, 5_000]) {
    const data = randomBytes(size);
    const whole = size - (size % 64);
    const first = new Sha256();
    first.update(data.subarray(0, whole));
    const hash = new Sha256(first.state()).digest(data.subarray(whole), size);
    expect(hash).toBe(createHash("sha256").update(data).digest("hex"));
  }
});
