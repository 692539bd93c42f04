/** Recognises binary formats by their first bytes. */

/** The first bytes of files of each type, written as one character per byte. `.` stands for any byte. */
const SIGNATURES: readonly [type: string, offset: number, bytes: string][] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF87a"],
  ["image/gif", 0, "GIF89a"],
  ["image/webp", 0, "RIFF....WEBP"],
  ["image/bmp", 0, "BM....\0\0\0\0..\0\0"],
  ["image/tiff", 0, "II*\0"],
  ["image/tiff", 0, "MM\0*"],
  ["image/x-icon", 0, "\0\0\x01\0"],
  ["image/jxl", 0, "\xff\x0a"],
  ["image/jxl", 0, "\0\0\0\x0cJXL "],
  ["image/jp2", 0, "\0\0\0\x0cjP  "],
  ["image/vnd.adobe.photoshop", 0, "8BPS"],
  ["application/gzip", 0, "\x1f\x8b"],
  ["application/zstd", 0, "\x28\xb5\x2f\xfd"],
  ["application/x-xz", 0, "\xfd7zXZ\0"],
  ["application/x-bzip2", 0, "BZh"],
  ["application/x-tar", 257, "ustar"],
  ["application/x-7z-compressed", 0, "7z\xbc\xaf\x27\x1c"],
  ["application/vnd.rar", 0, "Rar!\x1a\x07"],
  ["application/x-ole-storage", 0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"],
  ["application/vnd.sqlite3", 0, "SQLite format 3\0"],
  ["application/wasm", 0, "\0asm"],
  ["model/gltf-binary", 0, "glTF"],
  ["audio/mpeg", 0, "ID3"],
  ["audio/mpeg", 0, "\xff\xfb"],
  ["audio/mpeg", 0, "\xff\xf3"],
  ["audio/mpeg", 0, "\xff\xf2"],
  ["audio/aac", 0, "\xff\xf1"],
  ["audio/aac", 0, "\xff\xf9"],
  ["audio/flac", 0, "fLaC"],
  ["audio/wav", 0, "RIFF....WAVE"],
  ["audio/aiff", 0, "FORM....AIF"],
  ["audio/midi", 0, "MThd"],
  ["video/ogg", 28, "\x80theora"],
  ["audio/ogg", 0, "OggS"],
  ["video/vnd.avi", 0, "RIFF....AVI "],
  ["video/x-flv", 0, "FLV\x01"],
  ["video/mpeg", 0, "\0\0\x01\xba"],
  ["font/woff", 0, "wOFF"],
  ["font/woff2", 0, "wOF2"],
  ["font/ttf", 0, "\0\x01\0\0\0"],
  ["font/otf", 0, "OTTO"],
  ["font/collection", 0, "ttcf"],
  ["application/vnd.ms-fontobject", 34, "LP"],
];

/** The brands of the container format of MPEG-4, which begins with `ftyp`. */
const BRANDS: readonly [type: string, brand: RegExp][] = [
  ["image/avif", /^avi[fs]/],
  ["image/heic", /^he[iv][cmsx]/],
  ["image/heif", /^m(if|sf)1/],
  ["video/quicktime", /^qt/],
  ["audio/mp4", /^M4[AB] /],
  ["video/3gpp", /^3g/],
  ["video/mp4", /^/],
];

const OOXML = "application/vnd.openxmlformats-officedocument";
/** Office files by the folder of their parts. */
const OFFICE: readonly [folder: string, type: string][] = [
  ["word/", `${OOXML}.wordprocessingml.document`],
  ["xl/", `${OOXML}.spreadsheetml.sheet`],
  ["ppt/", `${OOXML}.presentationml.presentation`],
];

const ENTRY = "PK\x03\x04";
/** Maximum entries of an archive to look at. */
const MAX_ENTRIES = 100;

function has(head: string, offset: number, bytes: string): boolean {
  if (head.length < offset + bytes.length) return false;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] !== "." && head[offset + i] !== bytes[i]) return false;
  }
  return true;
}

/** Returns the type of an archive. Some formats name themselves in the first entry, others have entries of fixed names. */
function typeOfZip(head: string): string {
  const names: string[] = [];
  for (let at = 0; at >= 0 && names.length < MAX_ENTRIES; at = head.indexOf(ENTRY, at + 4)) {
    const length = head.charCodeAt(at + 26) || 0;
    names.push(head.slice(at + 30, at + 30 + length));
  }
  if (names[0] === "mimetype") {
    const [type] =
      /^application\/(vnd\.oasis\.opendocument\.[a-z-]+|epub\+zip)/.exec(head.slice(38, 120)) ?? [];
    if (type !== undefined) return type;
  }
  const office = names.includes("[Content_Types].xml")
    ? OFFICE.find(([folder]) => names.some((name) => name.startsWith(folder)))
    : undefined;
  if (office !== undefined) return office[1];
  return names.includes("META-INF/MANIFEST.MF") ? "application/java-archive" : "application/zip";
}

/** Returns the type of a container of MPEG-4. A general brand comes with the names of the special ones. */
function typeOfContainer(head: string): string {
  const brands = [head.slice(8, 12), ...(head.slice(16, 64).match(/.{4}/gs) ?? [])];
  const [major = ""] = brands;
  const named = /^m(if|sf)1/.test(major)
    ? brands.slice(1).find((brand) => /^(avi[fs]|he[iv][cmsx])/.test(brand))
    : major;
  return BRANDS.find(([, brand]) => brand.test(named ?? major))?.[0] ?? "video/mp4";
}

/** Returns the type of binary content. @param head the first bytes, one character each */
export function typeOfBinary(head: string): string | undefined {
  if (has(head, 4, "ftyp")) return typeOfContainer(head);
  if (has(head, 0, ENTRY) || has(head, 0, "PK\x05\x06")) return typeOfZip(head);
  if (has(head, 0, "\x1a\x45\xdf\xa3"))
    return head.slice(0, 64).includes("matroska") ? "video/matroska" : "video/webm";
  return SIGNATURES.find(([, offset, bytes]) => has(head, offset, bytes))?.[0];
}
