import { readFileSync } from "node:fs";
import { crc32 as zlibCrc32 } from "node:zlib";
import { expect, test } from "vitest";
import { secretsIn } from "../../scripts/tools/audit.ts";
import {
  crc32,
  isTokenText,
  readTokenText,
  writeTokenText,
} from "../../shared/access/credentials/token-text.ts";
import { newId, randomToken } from "../../shared/kernel/ids.ts";

const sub = "0123456789abcdef".repeat(2);
const make = (realm: string) => writeTokenText({ realm, sub, id: newId(Date.now()) }, randomToken(32));

test("computes the CRC-32 of zip files", () => {
  for (const text of ["", "a", "123456789", "orbtok_ä€😀", randomToken(500)])
    expect(crc32(text)).toBe(zlibCrc32(text));
});

test("reads back realm, account and id, whatever the realm's name and the secret contain", () => {
  for (const realm of ["platform", "auth", "shop", "a_b", `a${"_0".repeat(31)}`, "x-_-y", `shop_${sub}`]) {
    for (let i = 0; i < 50; i++) {
      const id = newId(Date.now());
      const text = writeTokenText({ realm, sub, id }, randomToken(32));
      expect(readTokenText(text)).toEqual({ realm, sub, id });
    }
  }
});

test("rejects every text with one changed, missing or additional character", () => {
  const text = make("shop");
  for (let at = 0; at < text.length; at++) {
    const other = text[at] === "0" ? "1" : "0";
    expect(readTokenText(text.slice(0, at) + other + text.slice(at + 1)), `character ${at}`).toBeNull();
    expect(readTokenText(text.slice(0, at) + text.slice(at + 1)), `without ${at}`).toBeNull();
    expect(readTokenText(`${text.slice(0, at)}x${text.slice(at)}`), `before ${at}`).toBeNull();
  }
  for (const wrong of ["", "orbtok_", "orbtok_*_>_x", `${text}\n`, ` ${text}`])
    expect(readTokenText(wrong)).toBeNull();
});

test("tells API tokens from session tokens", () => {
  expect(isTokenText(make("auth"))).toBe(true);
  expect(isTokenText("eyJhbGciOiJFZERTQSJ9.e30.AAAA")).toBe(false);
});

test("is found by the expression for secret scanners in the docs, and by the search of the repository", () => {
  const page = readFileSync(new URL("../../docs/reference/accounts-api.md", import.meta.url), "utf8");
  const expression = /^orbtok_.*$/m.exec(page)?.[0] ?? "";
  expect(expression).not.toBe("");
  for (const realm of ["platform", "shop_a-b"]) {
    const text = make(realm);
    expect(new RegExp(`^(?:${expression})$`).test(text)).toBe(true);
    expect(secretsIn(`curl -H "authorization: Bearer ${text}"`)).toEqual(["API token"]);
  }
});
