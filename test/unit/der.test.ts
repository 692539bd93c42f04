import { generateKeyPairSync, sign, verify } from "node:crypto";
import { expect, test } from "vitest";
import { AsnParser, ECDSASigValue } from "../../shared/access/ceremony/der.ts";

/** Returns an integer of a signature with a fixed length, as WebCrypto takes it. */
function fixed(integer: ArrayBuffer, length: number): Buffer {
  const bytes = Buffer.from(integer);
  const digits = bytes.length > length ? bytes.subarray(bytes.length - length) : bytes;
  return Buffer.concat([Buffer.alloc(length - digits.length), digits]);
}

test.each([
  ["P-256", 32],
  ["P-384", 48],
  ["P-521", 66],
] as const)("reads signatures over %s", (namedCurve, length) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
  for (let round = 0; round < 50; round++) {
    const data = Buffer.from(`data ${round}`);
    const { r, s } = AsnParser.parse(sign("sha256", data, privateKey), ECDSASigValue);
    const signature = Buffer.concat([fixed(r, length), fixed(s, length)]);
    expect(verify("sha256", data, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
  }
});

test("rejects bytes that are not exactly one signature, and other structures", () => {
  const bad = [
    "",
    "30",
    "3006",
    "30060201010201",
    "3006020101020201",
    "300602010102010100",
    "3007020101020101ff",
  ];
  bad.push(
    "31060201010201ff",
    "3006030101020101",
    "308106020101020101",
    "3080020101020101",
    "30820006020101020101",
  );
  for (const hex of bad) {
    expect(() => AsnParser.parse(Buffer.from(hex, "hex"), ECDSASigValue), hex).toThrow("in DER");
  }
  const { r, s } = AsnParser.parse(Buffer.from("3006020101020102", "hex"), ECDSASigValue);
  expect([...new Uint8Array(r), ...new Uint8Array(s)]).toEqual([1, 2]);
  class Certificate extends ECDSASigValue {}
  expect(() => AsnParser.parse(Buffer.from("3006020101020102", "hex"), Certificate)).toThrow(
    "Only signatures",
  );
});
