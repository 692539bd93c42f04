/** Detects the type of a file from its first bytes, because a client can send a wrong type. */
import { markupOf, singleByteText, textIn, typeOfBinary } from "./types/index.ts";

/** Number of bytes that {@link typeOf} examines. Office files name their kind in the first entries of an archive. */
const SNIFFED_BYTES = 64 * 1024;
/** Number of bytes that must be text for content to be text. */
const TEXT_BYTES = 16 * 1024;

const BINARY = "application/octet-stream";
const TEXT = "text/plain";

/**
 * For each detected type, the more specific types that a client may declare instead. Browsers do not run scripts in
 * any of them.
 */
const SHARED: Readonly<Record<string, RegExp>> = {
  "application/zip":
    /^application\/(vnd\.openxmlformats-officedocument\.[a-z.]+|vnd\.oasis\.opendocument\.[a-z-]+|vnd\.ms-[a-z0-9.]+|vnd\.google-earth\.kmz|epub\+zip|java-archive)$/,
  "application/x-ole-storage": /^application\/(msword|vnd\.ms-[a-z]+|vnd\.visio)$/,
  "application/xml": /^(text\/xml|application\/(?!xhtml\+xml$)[a-z0-9.-]+\+xml)$/,
  "audio/ogg": /^video\/ogg$/,
  "video/webm": /^audio\/webm$/,
  "video/mp4": /^audio\/mp4$/,
};

/**
 * Types of text that a client may declare, and how their text starts. Browsers do not run scripts in any of them. So
 * HTML, style sheets and scripts are missing.
 */
const DECLARED: readonly [type: RegExp, start: RegExp][] = [
  [/^text\/(plain|csv|tab-separated-values|markdown|x-[a-z0-9.+-]+(?<!script))$/, /^/],
  [/^application\/(yaml|x-yaml|toml|sql)$/, /^/],
  [/^application\/(json|x-ndjson|jsonl|[a-z0-9.-]+\+json)$/, /^\s*([[{"\d-]|true\b|false\b|null\b|$)/],
  [/^text\/calendar$/, /^\s*BEGIN:VCALENDAR/i],
  [/^text\/vcard$/, /^\s*BEGIN:VCARD/i],
  [/^text\/vtt$/, /^WEBVTT/],
];

/** Formats whose files are text, by how they start. */
const IN_TEXT: readonly [type: string, start: RegExp][] = [
  ["application/pdf", /^%PDF-/],
  ["application/rtf", /^\{\\rtf\d/],
  ["application/postscript", /^%!PS/],
  ["text/vtt", /^WEBVTT(?:[ \t\r\n]|$)/],
  ["text/calendar", /^BEGIN:VCALENDAR\r?\n/],
  ["text/vcard", /^BEGIN:VCARD\r?\n/],
];

/** Returns the bytes as one character each. */
function charactersOf(head: Uint8Array): string {
  let text = "";
  // A call takes a limited number of arguments.
  for (let at = 0; at < head.length; at += 8192) text += String.fromCharCode(...head.subarray(at, at + 8192));
  return text;
}

/** Number of characters that readers of PDF accept before the header. */
const BEFORE_PDF = 1024;

/** Returns whether a text has the header of a PDF near its start, on its own line, and an object after it. */
function isPdf(text: string): boolean {
  const header = /(?:^|[\r\n\0])%PDF-\d\.\d[\s%]/.exec(text.slice(0, BEFORE_PDF + 16));
  return header !== null && /\d{1,10} \d{1,5} obj\b/.test(text.slice(header.index));
}

function inText(text: string): string | undefined {
  const found = IN_TEXT.find(([, start]) => start.test(text))?.[0];
  return found ?? (isPdf(text) ? "application/pdf" : undefined);
}

/** Returns the type of a text. A declared type counts only if the text can be of that type. */
function typeOfText(text: string, declared: string): string {
  const markup = markupOf(text);
  if (markup?.isCertain === true) return markup.type;
  const found = inText(text);
  if (found !== undefined) return found;
  if (DECLARED.some(([type, start]) => type.test(declared) && start.test(text))) return declared;
  return markup?.type ?? TEXT;
}

/**
 * Returns the type of a file.
 * @param content the file, or its first bytes
 * @param declared type that the client sent
 */
export function typeOf(content: Uint8Array, declared: string | undefined): string {
  const said = declared?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const head = content.subarray(0, SNIFFED_BYTES);
  const text = textIn(head.subarray(0, TEXT_BYTES));
  const bytes = text === undefined ? charactersOf(head) : "";
  const found =
    text === undefined ? (typeOfBinary(bytes) ?? inText(bytes) ?? BINARY) : typeOfText(text, said);
  if (SHARED[found]?.test(said) === true) return said;
  if (found !== BINARY) return found;
  // Text in an old encoding has no mark by which to recognise it. So the client must declare it.
  const old = DECLARED.some(([type]) => type.test(said))
    ? singleByteText(head.subarray(0, TEXT_BYTES))
    : undefined;
  return old === undefined ? BINARY : typeOfText(old, said);
}

/** Returns whether a list of media types, such as `image/*` or `application/pdf`, includes a type. */
export function accepts(list: readonly string[], type: string): boolean {
  return list.some((each) => each === type || (each.endsWith("/*") && type.startsWith(each.slice(0, -1))));
}

/** Types that a browser can display without running scripts. Files of all other types are sent as downloads. */
const SHOWN =
  /^(image\/(png|jpeg|gif|webp|avif|heic|heif|bmp|tiff|x-icon)|audio\/.+|video\/.+|text\/plain|application\/pdf)$/;

export function isShown(type: string): boolean {
  return SHOWN.test(type);
}

const MAX_NAME = 200;

/**
 * Returns the file name without folders, without characters that could end an HTTP header, and without characters
 * that change the direction of text.
 */
export function safeName(name: string | undefined): string {
  const last = (name ?? "").split(/[/\\]/).at(-1) ?? "";
  const kept = [...last.normalize("NFC").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "")]
    .slice(0, MAX_NAME)
    .join("")
    .trim();
  return /^\.*$/.test(kept) ? "file" : kept;
}
