import { expect, test } from "vitest";
import { forwardedAddress } from "../../scripts/process/forwarded.ts";
import { clientNetwork, coarseNetwork } from "../../shared/access/limits.ts";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::ffff:cb00:7107", "203.0.113.7"],
  ["::FFFF:0102:0304", "1.2.3.4"],
  ["0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7"],
  ["0000:0000:0000:0000:0000:ffff:0102:0304", "1.2.3.4"],
  ["1::ffff:102:304", "1:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:0db8:0001:0002::", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["unknown", "unknown"],
])("rate limits count %s as %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["198.51.100.1, 203.0.113.7:50123", "203.0.113.7"],
  ["198.51.100.1,[2001:db8::1]:50123", "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["2001:db8::1", "2001:db8::1"],
  ["::ffff:203.0.113.7", "::ffff:203.0.113.7"],
  [" 203.0.113.7 ", "203.0.113.7"],
  ["198.51.100.1,", undefined],
  ["198.51.100.1, unknown", undefined],
  ["198.51.100.1, [203.0.113.7]:1", undefined],
  ["198.51.100.1, 203.0.113.7:x", undefined],
  ["198.51.100.1, 203.0.113.700", undefined],
  ["", undefined],
])("reads the client's address from X-Forwarded-For: %j → %s", (header, address) => {
  expect(forwardedAddress(header)).toBe(address);
});

test.each([
  ["203.0.113.77", "203.0.113.0/24"],
  ["::ffff:203.0.113.77", "203.0.113.0/24"],
  ["2001:db8:12:34:56::78", "2001:db8:12::/48"],
  ["2001:db8::1", "2001:db8:0::/48"],
  ["127.0.0.1", null],
  ["::1", null],
  ["unknown", null],
])("shortens the address %s to a network", (address, network) => {
  expect(coarseNetwork(address)).toBe(network);
});
