import { expect, test } from "vitest";
import { isSlug, slugOf } from "../../shared/texts/slug.ts";

test.each([
  ["Red chair", "en", "red-chair"],
  ["  Don’t stop -- now! ", "en", "dont-stop-now"],
  ["Größe & Gewicht", "de-CH", "groesse-gewicht"],
  ["Größe", "sv", "grosse"],
  ["Smørrebrød på Åen", "da", "smoerrebroed-paa-aaen"],
  ["ÉCOLE d'été", "fr", "ecole-dete"],
  ["İstanbul ışık", "tr", "istanbul-isik"],
  ["Đặng Thị Hồng", "vi", "dang-thi-hong"],
  ["Щедрый Йод", "ru", "shchedryy-yod"],
  ["Щастя їжак", "uk", "shchastia-izhak"],
  ["Площад", "bg", "ploshtad"],
  ["Ουρανός και αυγή", "el", "ouranos-kai-avgi"],
  ["საქართველო", "ka", "sakartvelo"],
  ["東京タワー 2", "ja", "東京タワー-2"],
  ["한국어", "ko", "한국어"],
  ["हिन्दी भाषा", "hi", "हिन्दी-भाषा"],
  ["!?", "en", ""],
  ["", "en", ""],
])("makes of %j in %s the slug %j", (text, language, slug) => {
  expect(slugOf(text, language, 80)).toBe(slug);
  if (slug !== "") expect(isSlug(slug)).toBe(true);
});

test("leaves out words that do not fit, and cuts a single long word", () => {
  expect(slugOf("one two three", "en", 9)).toBe("one-two");
  expect(slugOf("one two three", "en", 7)).toBe("one-two");
  expect(slugOf("x".repeat(500), "en", 80)).toBe("x".repeat(80));
  expect(slugOf(`${"x".repeat(1_000_000)} a`, "en", 80)).toBe("x".repeat(80));
});
