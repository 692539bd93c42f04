import { expect, test } from "vitest";
import { namesOfAgent } from "../../shared/kernel/user-agent.ts";

const SAFARI = "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1";
const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0";

test.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0", "Firefox", "Linux"],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36`, "Chrome", "Windows"],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36 Edg/131.0.0.0`, "Edge", "Windows"],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36 OPR/115.0`, "Opera", "Windows"],
  [`Mozilla/5.0 (Linux; Android 14; K) ${CHROME} Mobile Safari/537.36`, "Chrome", "Android"],
  [
    `Mozilla/5.0 (Linux; Android 14; K) ${CHROME} SamsungBrowser/27.0 Mobile Safari/537.36`,
    "Samsung Internet",
    "Android",
  ],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${CHROME} Safari/537.36`, "Chrome", "ChromeOS"],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${SAFARI} Safari/605.1.15`, "Safari", "Mac"],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) ${SAFARI} Mobile/15E148 Safari/604.1`,
    "Safari",
    "iPhone",
  ],
  ["Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X) CriOS/131.0 Mobile Safari/604.1", "Chrome", "iPad"],
  ["curl/8.11.0", "curl", null],
  ["backup-of-ada's-laptop/1.0", null, null],
  ["", null, null],
])("names the browser and the system of %s", (agent, browser, system) => {
  expect(namesOfAgent(agent)).toEqual({ browser, system });
});

test("examines only the start of a long header", () => {
  expect(namesOfAgent(`${"x".repeat(600)} Firefox/1`).browser).toBeNull();
});
