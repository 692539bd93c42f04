/** Detects the type of a file from its first bytes, because a client can send a wrong type. */

/** Number of bytes that {@link typeOf} examines. */
export const SNIFFED_BYTES = 4096;

/** The first bytes of files of each type, written as one character per byte. `.` stands for any byte. */
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

/**
 * For each detected type, the more specific types that a client may declare instead. Browsers do not run scripts in
 * any of them.
 */
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

/** Returns the type of a text. Detects HTML, SVG and XML, because browsers can run scripts in them. */
function typeOfText(text: string): string {
  const start = text
    .replace(/^\uFEFF?\s*/, "")
    .slice(0, 1024)
    .toLowerCase();
  if (/<(!doctype html|html|head|body|script|iframe|title|style)[\s>/]/.test(start)) return "text/html";
  if (/<svg[\s>]/.test(start)) return "image/svg+xml";
  return start.startsWith("<?xml") || /^<[a-z!]/.test(start) ? "application/xml" : TEXT;
}

/** Returns the bytes as text, or undefined unless they are UTF-8 without control characters. */
function textIn(head: Uint8Array): string | undefined {
  try {
    // The sample may end in the middle of a character. The option `stream` makes the decoder accept this.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary content from text
    return /[\x00-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * Returns the type of a file.
 * @param head first bytes of the file
 * @param declared type that the client sent
 */
export function typeOf(head: Uint8Array, declared: string | undefined): string {
  const said = declared?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const signature = SIGNATURES.find(([, offset, bytes]) => has(head, offset, bytes))?.[0];
  const text = signature === undefined ? textIn(head) : undefined;
  const found = signature ?? (text === undefined ? BINARY : typeOfText(text));
  return SHARED[found]?.test(said) === true ? said : found;
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
