/**
 * Recognises HTML, SVG and XML by the structure at their start, as browsers do. Markup further inside says nothing:
 * JSON, CSV and Markdown contain it, too.
 */

/** What the start of a text is. */
export interface Markup {
  type: "text/html" | "application/xhtml+xml" | "image/svg+xml" | "application/xml";
  /**
   * Whether the text can only be this. Otherwise it may be Markdown, or any text that begins with an angle bracket.
   */
  isCertain: boolean;
}

/** Elements with which documents begin, and elements that run or load something. */
const DOCUMENT =
  /^(html|head|body|title|meta|base|link|style|script|noscript|iframe|frameset|frame|object|embed|template)$/;
/** Elements with which fragments of HTML begin. */
const FRAGMENT =
  /^(a|abbr|address|area|article|aside|audio|b|big|blockquote|br|button|canvas|center|code|details|dialog|div|dl|em|fieldset|figure|font|footer|form|h[1-6]|header|hr|i|img|input|label|li|main|marquee|math|menu|nav|ol|p|picture|pre|s|section|select|small|span|strong|sub|summary|sup|svg|table|tbody|td|textarea|th|thead|tr|tt|u|ul|video)$/;

const SPACE = /^\s+/;
const COMMENT = /^<!--(?:[\s\S]*?-->|[\s\S]*$)/;
const INSTRUCTION = /^<\?(?:[\s\S]*?\?>|[\s\S]*$)/;
const DOCTYPE = /^<!doctype\s+([^\s>[]+)(?:[^>[]*(?:\[[\s\S]*?\]\s*)?>|[\s\S]*$)/i;
const ELEMENT = /^<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)(?=[\s/>]|$)/;

/** Removes what may precede the first element. */
function withoutPrologue(text: string) {
  let rest = text;
  let doctype: string | undefined;
  let isXml = false;
  let hasComment = false;
  for (;;) {
    const found = SPACE.exec(rest) ?? COMMENT.exec(rest) ?? INSTRUCTION.exec(rest) ?? DOCTYPE.exec(rest);
    if (found === null) return { rest, doctype, isXml, hasComment };
    const [part, name] = found;
    if (part.startsWith("<!--")) hasComment = true;
    else if (part.startsWith("<?")) {
      // Other programs have instructions, too, such as PHP. Only XML begins with this one.
      if (!isXml && !/^<\?xml[\s?-]/i.test(part)) return { rest, doctype, isXml, hasComment };
      isXml = true;
    } else if (part.startsWith("<!")) doctype = name?.toLowerCase();
    rest = rest.slice(part.length);
  }
}

/** Returns what the start of a text is, or undefined if it is no markup. */
export function markupOf(text: string): Markup | undefined {
  const { rest, doctype, isXml, hasComment } = withoutPrologue(text);
  const root = ELEMENT.exec(rest)?.[1]?.toLowerCase();
  const isCertain = isXml || doctype !== undefined;
  if (root === "svg" || (doctype === "svg" && root === undefined))
    return { type: "image/svg+xml", isCertain: true };
  if (doctype === "html" || (root !== undefined && DOCUMENT.test(root)))
    return { type: isXml ? "application/xhtml+xml" : "text/html", isCertain: true };
  if (isCertain) return { type: "application/xml", isCertain };
  if (root !== undefined) return { type: FRAGMENT.test(root) ? "text/html" : "application/xml", isCertain };
  return hasComment ? { type: "text/html", isCertain } : undefined;
}
