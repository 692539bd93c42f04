/** The types of files, detected from their content. */
import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { accepts, isShown, typeOf } from "../../shared/files/content-type.ts";
import { jpeg, picture, png, webp } from "../support/images.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const utf8 = (text: string) => Buffer.from(text);
const utf16le = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");
const utf16be = (text: string) => utf16le(text).swap16();

/** Returns an archive whose entries have these names and contents. */
function zip(entries: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(entries).map(([name, content], at) => {
    // The first entry of some formats must not be compressed.
    const data = at === 0 ? Buffer.from(content) : deflateRawSync(content);
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50, 0);
    header.writeUInt16LE(20, 4);
    header.writeUInt16LE(at === 0 ? 0 : 8, 8);
    header.writeUInt32LE(data.length, 18);
    header.writeUInt32LE(Buffer.byteLength(content), 22);
    header.writeUInt16LE(name.length, 26);
    return Buffer.concat([header, Buffer.from(name), data]);
  });
  return Buffer.concat([...parts, latin1("PK\x05\x06"), Buffer.alloc(18)]);
}

const office = (kind: string, folder: string) =>
  zip({
    "[Content_Types].xml": `<?xml version="1.0"?><Types><Override PartName="/a.xml" ContentType="application/vnd.openxmlformats-officedocument.${kind}.main+xml"/></Types>`,
    "_rels/.rels": "<Relationships/>",
    [`${folder}/a.xml`]: "<a/>",
  });

const box = (brand: string) => latin1(`\0\0\0\x18ftyp${brand}\0\0\0\0${brand}mp42\0\0\0\x08free`);
const svg = '<svg xmlns="http://www.w3.org/2000/svg"><title>Logo</title></svg>';
const long = "x".repeat(3_000);
const OOXML = "application/vnd.openxmlformats-officedocument";

interface Sample {
  content: Uint8Array;
  declared?: string;
  type: string;
}

/** Each sample: content, declared type (or none), expected type. */
const row = (content: Uint8Array, declared: string | undefined, type: string): Sample => ({
  content,
  type,
  ...(declared === undefined ? {} : { declared }),
});

const MARKUP: Record<string, Sample> = {
  "SVG with a title": row(utf8(svg), "image/svg+xml", "image/svg+xml"),
  "SVG with a style": row(utf8("<svg><style>a{fill:red}</style></svg>"), undefined, "image/svg+xml"),
  "SVG with a script": row(utf8("<svg><script>alert(1)</script></svg>"), "text/html", "image/svg+xml"),
  "SVG with a prologue": row(
    utf8(
      `<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [<!ENTITY a "<html>">]>\n${svg}`,
    ),
    undefined,
    "image/svg+xml",
  ),
  "SVG after a comment with HTML": row(utf8(`<!-- <html><script> -->${svg}`), undefined, "image/svg+xml"),
  "SVG after a long comment": row(utf8(`<!-- ${long} -->${svg}`), undefined, "image/svg+xml"),
  "SVG with a prefix": row(utf8('<s:svg xmlns:s="http://www.w3.org/2000/svg"/>'), undefined, "image/svg+xml"),
  "SVG with a byte order mark": row(utf8(`\uFEFF${svg}`), undefined, "image/svg+xml"),
  "SVG in UTF-16, little end first": row(utf16le(svg), undefined, "image/svg+xml"),
  "SVG in UTF-16, big end first": row(utf16be(svg), "text/plain", "image/svg+xml"),
  "SVG that the client calls a PNG": row(utf8(svg), "image/png", "image/svg+xml"),
  HTML: row(utf8("<!doctype html><title>a</title>"), "text/html", "text/html"),
  "HTML that the client calls text": row(utf8("<!DOCTYPE HTML><p>a"), "text/plain", "text/html"),
  "HTML that the client calls SVG": row(utf8("<html><svg></svg></html>"), "image/svg+xml", "text/html"),
  "HTML that the client calls Markdown": row(utf8("<!doctype html><h1>a</h1>"), "text/markdown", "text/html"),
  "HTML that the client calls JSON": row(utf8(" \n<html>{}"), "application/json", "text/html"),
  "HTML that the client calls CSV": row(utf8("<script>alert(1)</script>,b"), "text/csv", "text/html"),
  "HTML without a doctype": row(utf8("\n\t <head><title>a"), undefined, "text/html"),
  "HTML after a comment": row(utf8("<!-- a --><HTML>"), "text/plain", "text/html"),
  "HTML in UTF-16": row(utf16le("<!doctype html><script>alert(1)</script>"), "text/plain", "text/html"),
  "HTML in Windows-1252": row(latin1("<!doctype html><p>K\xe4se"), "text/csv", "text/html"),
  "a script element": row(utf8("<script>alert(1)</script>"), undefined, "text/html"),
  "a frame": row(utf8("<iframe src=a>"), undefined, "text/html"),
  "a fragment of HTML": row(utf8("<div>a</div>"), undefined, "text/html"),
  XHTML: row(
    utf8('<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'),
    "text/plain",
    "application/xhtml+xml",
  ),
  XML: row(utf8('<?xml version="1.0"?><a><style/></a>'), undefined, "application/xml"),
  "XML that the client calls text": row(utf8('<?xml version="1.0"?><a/>'), "text/plain", "application/xml"),
  "a feed": row(
    utf8('<?xml version="1.0"?><rss version="2.0"><title>a</title></rss>'),
    "application/rss+xml",
    "application/rss+xml",
  ),
  "XML without a prologue": row(
    utf8("<gpx version='1.1'></gpx>"),
    "application/gpx+xml",
    "application/gpx+xml",
  ),
  "XML in UTF-16": row(utf16be('<?xml version="1.0"?><a/>'), undefined, "application/xml"),
};

const TEXTS: Record<string, Sample> = {
  "Markdown with a head": row(
    utf8("# HTML\n\n`<head>` and <script> are elements."),
    "text/markdown",
    "text/markdown",
  ),
  "Markdown that begins with an element": row(
    utf8('<h1 align="center">Project</h1>\n'),
    "text/markdown",
    "text/markdown",
  ),
  "Markdown that begins with a comment": row(utf8("<!-- toc -->\n# A"), "text/markdown", "text/markdown"),
  "JSON with a style": row(utf8('{"html":"<style>","a":"<script>"}'), "application/json", "application/json"),
  "JSON that is a text": row(utf8('"<style>"'), "application/json", "application/json"),
  GeoJSON: row(utf8('{"type":"Point"}'), "application/geo+json", "application/geo+json"),
  "JSON Lines": row(utf8('{"a":1}\n{"a":2}\n'), "application/x-ndjson", "application/x-ndjson"),
  "JSON of a vocabulary": row(utf8("[]"), "application/ld+json; charset=utf-8", "application/ld+json"),
  "no JSON": row(utf8("hello"), "application/json", "text/plain"),
  "CSV with a frame": row(utf8("name,html\na,<iframe src=b>"), "text/csv", "text/csv"),
  "CSV that begins like a bitmap": row(utf8("BMW,1\nAudi,2\n"), "text/csv", "text/csv"),
  "CSV in UTF-16": row(utf16le("a;b\n1;2"), "text/csv", "text/csv"),
  "CSV in Windows-1252": row(latin1("K\xe4se;1\n"), "text/csv", "text/csv"),
  "tab-separated values": row(utf8("a\tb\n"), "text/tab-separated-values", "text/tab-separated-values"),
  YAML: row(utf8("a: <title>\n"), "application/yaml", "application/yaml"),
  "a calendar": row(utf8("BEGIN:VCALENDAR\r\nEND:VCALENDAR"), undefined, "text/calendar"),
  "a contact": row(utf8("BEGIN:VCARD\nEND:VCARD"), "text/vcard", "text/vcard"),
  "no contact": row(utf8("hello"), "text/vcard", "text/plain"),
  subtitles: row(utf8("WEBVTT\n\n00:00.000 --> 00:01.000\n<b>a</b>"), "text/vtt", "text/vtt"),
  text: row(utf8("a < b, <john@example.org> wrote: <html>"), undefined, "text/plain"),
  "text that the client calls HTML": row(utf8("hello"), "text/html", "text/plain"),
  "text that the client calls a script": row(utf8("alert(1)"), "text/javascript", "text/plain"),
  "text that the client calls an old script": row(utf8("alert(1)"), "text/x-javascript", "text/plain"),
  "text that the client calls a style sheet": row(utf8("a{}"), "text/css", "text/plain"),
  "text that the client calls an image": row(utf8("hello"), "image/png", "text/plain"),
  "source code": row(utf8("<?php echo 1;"), "text/x-php", "text/x-php"),
  nothing: row(utf8(""), undefined, "text/plain"),
  RTF: row(utf8("{\\rtf1\\ansi a}"), undefined, "application/rtf"),
  PostScript: row(utf8("%!PS-Adobe-3.0"), undefined, "application/postscript"),
};

const BINARIES: Record<string, Sample> = {
  PDF: row(latin1("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj"), "text/html", "application/pdf"),
  "PDF of text only": row(utf8("%PDF-1.4\n1 0 obj\n<< >>"), undefined, "application/pdf"),
  "PDF after an empty line": row(latin1("\r\n%PDF-1.4\n%\xe2\xe3\n1 0 obj\n"), undefined, "application/pdf"),
  "PDF after other bytes": row(
    latin1(`\0\x01junk\n%PDF-1.4\n%\xe2\xe3\n12 0 obj\n`),
    undefined,
    "application/pdf",
  ),
  "text about PDF": row(utf8("The header:\n%PDF-1.4 and then objects."), undefined, "text/plain"),
  "HTML with a PDF in it": row(utf8("<html>\n%PDF-1.4\n1 0 obj\n"), "application/pdf", "text/html"),
  "a document of Word": row(
    office("wordprocessingml.document", "word"),
    undefined,
    `${OOXML}.wordprocessingml.document`,
  ),
  "a workbook of Excel": row(
    office("spreadsheetml.sheet", "xl"),
    "application/octet-stream",
    `${OOXML}.spreadsheetml.sheet`,
  ),
  "slides of PowerPoint": row(
    office("presentationml.presentation", "ppt"),
    undefined,
    `${OOXML}.presentationml.presentation`,
  ),
  "an OpenDocument": row(
    zip({ mimetype: "application/vnd.oasis.opendocument.text" }),
    undefined,
    "application/vnd.oasis.opendocument.text",
  ),
  "an electronic book": row(zip({ mimetype: "application/epub+zip" }), undefined, "application/epub+zip"),
  "an old document of Word": row(
    latin1(`\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1${"\0".repeat(600)}`),
    "application/msword",
    "application/msword",
  ),
  "an archive": row(zip({ "a.txt": "a" }), undefined, "application/zip"),
  "an archive that the client calls HTML": row(zip({ "a.html": "<html>" }), "text/html", "application/zip"),
  GZIP: row(latin1("\x1f\x8b\x08\0\0\0\0\0"), "text/csv", "application/gzip"),
  "a font (TrueType)": row(latin1("\0\x01\0\0\0\x0c\0\x80\0\x03\0\x40"), undefined, "font/ttf"),
  "a font (OpenType)": row(latin1("OTTO\0\x0c\0\x80\0\x03"), undefined, "font/otf"),
  "a font (WOFF)": row(latin1("wOFF\0\x01\0\0"), undefined, "font/woff"),
  "a font (WOFF 2)": row(latin1("wOF2\0\x01\0\0"), undefined, "font/woff2"),
  MP3: row(latin1("\xff\xfb\x90\x64\0"), undefined, "audio/mpeg"),
  "MP3 with tags": row(latin1("ID3\x04\0\0\0\0\x0f\x76TIT2"), undefined, "audio/mpeg"),
  AAC: row(latin1("\xff\xf1\x50\x80\x02"), undefined, "audio/aac"),
  FLAC: row(latin1("fLaC\0\0\0\x22"), undefined, "audio/flac"),
  WAV: row(latin1("RIFF\x24\0\0\0WAVEfmt "), undefined, "audio/wav"),
  M4A: row(box("M4A "), undefined, "audio/mp4"),
  MP4: row(box("isom"), "text/html", "video/mp4"),
  QuickTime: row(box("qt  "), undefined, "video/quicktime"),
  WebM: row(latin1("\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm"), undefined, "video/webm"),
  "sound in WebM": row(
    latin1("\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm"),
    "audio/webm;codecs=opus",
    "audio/webm",
  ),
  Matroska: row(latin1("\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska"), undefined, "video/matroska"),
  AVI: row(latin1("RIFF\x24\0\0\0AVI LIST"), undefined, "video/vnd.avi"),
  GIF: row(latin1("GIF89a\x10\0\x10\0\0\0\0<script>"), "text/html", "image/gif"),
  AVIF: row(box("avif"), undefined, "image/avif"),
  HEIC: row(box("heic"), undefined, "image/heic"),
  BMP: row(
    latin1("BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0"),
    undefined,
    "image/bmp",
  ),
  TIFF: row(latin1("II*\0\x08\0\0\0"), undefined, "image/tiff"),
  "an icon": row(latin1("\0\0\x01\0\x01\0\x10\x10"), undefined, "image/x-icon"),
  "a broken PNG": row(latin1("\x89PNG\r\n\x1a\n"), undefined, "image/png"),
  WebAssembly: row(latin1("\0asm\x01\0\0\0"), undefined, "application/wasm"),
  "unknown bytes": row(latin1("\x01\x02\x03\0\x80"), "text/html", "application/octet-stream"),
  "bytes that the client calls text": row(
    latin1("\x01\x02\0<html>"),
    "text/plain",
    "application/octet-stream",
  ),
};

const SAMPLES = { ...MARKUP, ...TEXTS, ...BINARIES };

describe("the type of a file", () => {
  for (const [name, { content, declared, type }] of Object.entries(SAMPLES)) {
    it(`of ${name}${declared === undefined ? "" : `, declared as ${declared},`} is ${type}`, () => {
      expect(typeOf(new Uint8Array(content), declared)).toBe(type);
    });
  }

  it("is found in images", async () => {
    const image = picture(8, 8);
    expect(typeOf(await png(image), undefined)).toBe("image/png");
    expect(typeOf(await jpeg(image), "text/html")).toBe("image/jpeg");
    expect(typeOf(await webp(image), "image/svg+xml")).toBe("image/webp");
  });

  it("is shown by browsers only if no script can run in it", () => {
    const shown = Object.values(SAMPLES).filter(({ type }) => isShown(type));
    for (const { type } of shown)
      expect(type).toMatch(/^(image\/(?!svg)|audio\/|video\/|text\/plain$|application\/pdf$)/);
    expect(shown.length).toBeGreaterThan(20);
  });

  it("is never a type whose content runs, whatever the client declares", () => {
    const runs = /javascript|ecmascript|jscript|livescript|text\/(html|css|xsl)|xhtml|svg/;
    const declared = [
      "text/javascript",
      "application/javascript",
      "text/x-ecmascript",
      "text/livescript",
      "text/css",
      "text/html",
    ];
    const texts = ["alert(1)", "a{}", '{"a":1}', "a,b", "# A"];
    for (const text of texts) for (const type of declared) expect(typeOf(utf8(text), type)).not.toMatch(runs);
  });

  it("takes linear time, whatever the text is", () => {
    const repeated = [
      "<!--",
      "<?xml ",
      "<!doctype a [",
      "] ",
      "1 ",
      "9",
      "%PDF-1.4\n",
      "\n%PDF-1.4 1",
      "<a:",
      "<!-- -->",
      " ",
    ];
    for (const part of repeated) {
      for (const prefix of ["", "<!doctype a [", "<?xml ?>", "%PDF-1.4\n"]) {
        const text = prefix + part.repeat(Math.ceil(100_000 / part.length));
        expect(typeof typeOf(utf8(text), "text/csv")).toBe("string");
      }
    }
  });

  it("is compared with the list of a field", () => {
    expect(accepts(["image/*"], "image/svg+xml")).toBe(true);
    expect(accepts(["text/csv"], "text/plain")).toBe(false);
  });
});
