/** The pages in the language of the browser, or in the one that a person chooses. */
import { expect, test } from "vitest";
import { useConsole } from "../support/console.ts";

const console = useConsole();

test("sends the page of one language, which caches keep apart", async () => {
  const at = `${console.platform.origin}/console`;
  const read = async (headers: Record<string, string>) => {
    const answer = await fetch(at, { headers });
    const text = await answer.text();
    return { answer, root: /<html[^>]*>/.exec(text)?.[0], files: text.match(/texts-[a-z]+-/g) };
  };
  const german = await read({ "accept-language": "de-CH,en;q=0.5" });
  expect([german.root, german.files]).toEqual(['<html lang="de" dir="ltr">', ["texts-de-"]]);
  expect(german.answer.headers.get("vary")).toContain("Accept-Language, Cookie");
  expect(german.answer.headers.get("content-language")).toBe("de");
  // A page of another language never counts as unchanged.
  const tag = german.answer.headers.get("etag") ?? "";
  const english = await read({ "accept-language": "de", cookie: "language=en", "if-none-match": tag });
  expect([english.answer.status, english.root]).toEqual([200, '<html lang="en" dir="ltr">']);
});

test("shows the console in the chosen language, until another one is chosen", async () => {
  const page = await console.open();
  await page.getByRole("button", { name: /^Account: / }).click();
  await page.getByRole("menuitemradio", { name: "Deutsch" }).click();
  await page.getByRole("link", { name: "Audit-Protokoll" }).waitFor();
  await expect.poll(() => page.locator("html").getAttribute("lang")).toBe("de");
  await page.reload();
  await page.getByRole("button", { name: /^Konto: / }).click();
  expect(await page.getByRole("menuitemradio", { name: "Deutsch" }).getAttribute("aria-checked")).toBe(
    "true",
  );
  await page.getByRole("menuitemradio", { name: "Sprache des Browsers" }).click();
  await page.getByRole("link", { name: "Audit log" }).waitFor();
});

test("signs people in, in the language of their browser or the chosen one, also from right to left", async () => {
  const at = `${console.platform.origin}/api/_auth/signin`;
  const answer = await fetch(at, { headers: { "accept-language": "fr" } });
  expect(await answer.text()).toMatch(/<html lang="fr" dir="ltr">[\s\S]*>Se connecter avec une clé d’accès</);
  expect([answer.headers.get("content-language"), answer.headers.get("vary")]).toEqual([
    "fr",
    expect.stringContaining("Accept-Language, Cookie"),
  ]);
  const page = await console.visit("/audit");
  await page.goto(at);
  await page.getByRole("combobox", { name: "Language" }).selectOption({ label: "العربية" });
  await page.getByRole("heading", { name: "تسجيل الدخول" }).waitFor();
  const shape = () =>
    page.evaluate(
      "(({ dir, lang, scrollWidth, clientWidth }) => ({ dir, lang, fits: scrollWidth <= clientWidth }))(document.documentElement)",
    );
  expect(await shape()).toEqual({ dir: "rtl", lang: "ar", fits: true });
  // The texts of the script are in the same language.
  await page.goto(`${at}?recover=true`);
  await page.getByRole("button", { name: "إنشاء مفتاح مرور" }).click();
  await page.getByRole("alert").filter({ hasText: "أدخل أحد رموز الاسترداد." }).waitFor();
  await page.goto(`${console.platform.origin}/console`);
  await page.getByRole("heading", { name: "تسجيل الدخول إلى وحدة التحكم" }).waitFor();
  expect(await shape()).toEqual({ dir: "rtl", lang: "ar", fits: true });
});
