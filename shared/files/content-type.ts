/** Finds the type of a file in its first bytes. A client could lie about the type. */

/** Bytes that {@link typeOf} looks at. */
export const SNIFFED_BYTES = 4096;

/** A signature: characters with one byte each, where `.` is any byte. */
const SIGNATURES: readonly [type: string, offset: number, bytes: string][] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF87a"],
  ["image/gif", 0, "GIF89a"],
  ["image/webp", 0, "RIFF....WEBP"],
  ["image/avif", 4, "ftypavif"],
  ["image/avif", 4, "ftypavis"],
  ["image/heic", 4, "ftyphei"],
  ["image/heif", 4, "ftypmif1"],
  ["image/bmp", 0, "BM........\x00\x00"],
  ["image/tiff", 0, "II*\x00"],
  ["image/tiff", 0, "MM\x00*"],
  ["image/x-icon", 0, "\x00\x00\x01\x00"],
  ["application/pdf", 0, "%PDF-"],
  ["application/zip", 0, "PK\x03\x04"],
  ["application/zip", 0, "PK\x05\x06"],
  ["application/gzip", 0, "\x1f\x8b"],
  ["application/zstd", 0, "\x28\xb5\x2f\xfd"],
  ["application/x-7z-compressed", 0, "7z\xbc\xaf\x27\x1c"],
  ["application/vnd.rar", 0, "Rar!\x1a\x07"],
  ["application/wasm", 0, "\x00asm"],
  ["video/quicktime", 4, "ftypqt"],
  ["audio/mp4", 4, "ftypM4A"],
  ["video/mp4", 4, "ftyp"],
  ["video/webm", 0, "\x1a\x45\xdf\xa3"],
  ["audio/mpeg", 0, "ID3"],
  ["audio/mpeg", 0, "\xff\xfb"],
  ["audio/ogg", 0, "OggS"],
  ["audio/flac", 0, "fLaC"],
  ["audio/wav", 0, "RIFF....WAVE"],
  ["font/woff", 0, "wOFF"],
  ["font/woff2", 0, "wOF2"],
];

const BINARY = "application/octet-stream";
const TEXT = "text/plain";

/** Types that the client may name for content of a form that several types share. None of them runs in a browser. */
const SHARED: Readonly<Record<string, RegExp>> = {
  [TEXT]:
    /^(text\/(csv|markdown|calendar|vcard|tab-separated-values)|application\/(json|x-ndjson|geo\+json|yaml|toml))$/,
  "application/zip":
    /^application\/(vnd\.openxmlformats-officedocument\.[a-z.]+|vnd\.oasis\.opendocument\.[a-z]+|epub\+zip|java-archive)$/,
};

function has(head: Uint8Array, offset: number, bytes: string): boolean {
  if (head.length < offset + bytes.length) return false;
  for (let i = 0; i < bytes.length; i++) {
    const wanted = bytes[i];
    if (wanted !== "." && head[offset + i] !== bytes.charCodeAt(i)) return false;
  }
  return true;
}

/** Returns the type of text: HTML, SVG and XML are told apart, because browsers run what they contain. */
function typeOfText(text: string): string {
  const start = text
    .replace(/^\uFEFF?\s*/, "")
    .slice(0, 1024)
    .toLowerCase();
  if (/<(!doctype html|html|head|body|script|iframe|title|style)[\s>/]/.test(start)) return "text/html";
  if (/<svg[\s>]/.test(start)) return "image/svg+xml";
  return start.startsWith("<?xml") || /^<[a-z!]/.test(start) ? "application/xml" : TEXT;
}

/** Returns the text if the bytes are UTF-8 without control characters. */
function textIn(head: Uint8Array): string | undefined {
  try {
    // `stream` accepts a character that the end of the sample cuts in two.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary content from text
    return /[\x00-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * Returns the type of content.
 * @param head its first bytes
 * @param declared what the client says
 */
export function typeOf(head: Uint8Array, declared: string | undefined): string {
  const said = declared?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const signature = SIGNATURES.find(([, offset, bytes]) => has(head, offset, bytes))?.[0];
  const text = signature === undefined ? textIn(head) : undefined;
  const found = signature ?? (text === undefined ? BINARY : typeOfText(text));
  return SHARED[found]?.test(said) === true ? said : found;
}

/** Returns whether a list such as `image/*`, `application/pdf` includes a type. */
export function accepts(list: readonly string[], type: string): boolean {
  return list.some((each) => each === type || (each.endsWith("/*") && type.startsWith(each.slice(0, -1))));
}

/** Types that a browser shows without running anything. Every other type is a download. */
const SHOWN =
  /^(image\/(png|jpeg|gif|webp|avif|heic|heif|bmp|tiff|x-icon)|audio\/.+|video\/.+|text\/plain|application\/pdf)$/;

export function isShown(type: string): boolean {
  return SHOWN.test(type);
}

const MAX_NAME = 200;

/** Returns a name without folders and without characters that could end a header or change the direction of text. */
export function safeName(name: string | undefined): string {
  const last = (name ?? "").split(/[/\\]/).at(-1) ?? "";
  const kept = [...last.normalize("NFC").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "")]
    .slice(0, MAX_NAME)
    .join("")
    .trim();
  return /^\.*$/.test(kept) ? "file" : kept;
}
