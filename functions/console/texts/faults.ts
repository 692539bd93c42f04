/** Texts for faults of the input. The platform describes them in English. */
import { LANGUAGE, type TextKey, t } from "./t.ts";

/** Keys of texts by the form of the message. The first group is the limit. */
const FORMS: readonly (readonly [RegExp, TextKey])[] = [
  [/^is required$/, "fault.required"],
  [/^is already used by another entry$/, "fault.unique"],
  [/^must be at least (\S+) characters long/, "fault.atLeastLength"],
  [/^must be at most (\S+) characters long/, "fault.atMostLength"],
  [/^must be at least (\S+) \(is /, "fault.atLeast"],
  [/^must be at most (\S+) \(is /, "fault.atMost"],
  [/^must not be before (\S+)$/, "fault.notBefore"],
  [/^must not be after (\S+)$/, "fault.notAfter"],
];

/** Returns the message of a fault in the language of the console, if it has one, else that of the platform. */
export function faultText({ message }: { message: string }): string {
  if (LANGUAGE === "en") return message;
  for (const [form, key] of FORMS) {
    const found = form.exec(message);
    if (found !== null) return t(key, { limit: found[1] ?? "" });
  }
  return message;
}
