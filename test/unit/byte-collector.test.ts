import { expect, test } from "vitest";
import { ByteCollector, encodeText } from "../../shared/kernel/ids.ts";

test("holds a body that arrives in parts of one byte in few parts", () => {
  const collector = new ByteCollector();
  for (let i = 0; i < 500_000; i++) collector.add(Uint8Array.of(i % 251));
  expect(collector.parts().length).toBeLessThan(100);
  expect(Buffer.from(collector.bytes()).equals(Uint8Array.from({ length: 500_000 }, (_, i) => i % 251))).toBe(
    true,
  );
});

test("keeps the order of parts of any size, and does not copy a body of one part", () => {
  const sizes = [...Array(10).fill(3), 5_000, 1, 1_023, 20_000, 2, 0, 1_024, 7];
  const sent = sizes.map((size, i) => new Uint8Array(size).fill(i));
  const collector = new ByteCollector();
  for (const part of sent) collector.add(part);
  expect(Buffer.from(collector.bytes()).equals(Buffer.concat(sent))).toBe(true);
  const single = new ByteCollector();
  const only = Uint8Array.of(1, 2);
  single.add(only);
  expect(single.bytes()).toBe(only);
  expect(new ByteCollector().bytes()).toHaveLength(0);
});

test("encodes each text as TextEncoder does, and later texts leave earlier results unchanged", () => {
  const texts = Array.from({ length: 400 }, (_, i) => `${i} ${"aß€😀".repeat(i * 3)}`);
  const encoded = texts.map(encodeText);
  expect(encoded.map((bytes) => new TextDecoder().decode(bytes))).toEqual(texts);
});
