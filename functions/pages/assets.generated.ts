// Made by scripts/build-pages.ts from functions/pages/browser and functions/pages/*.css. Do not edit.
/** Addresses of each page's files. */
export const files = {
  signin: { script: "/api/_auth/assets/signin-pWJtI0Wzi-qA.js", style: "/api/_auth/assets/signin-NdURWHIFDqKk.css" },
  docs: { script: "/api/_auth/assets/docs-gjCDaO1IUfmC.js", style: "/api/_auth/assets/docs-Sy8kOIbcv5ny.css" },
} as const;
/** Media types of the files by name. The name holds the content's hash. */
export const types: Readonly<Record<string, string>> = {
  "signin-pWJtI0Wzi-qA.js": "text/javascript; charset=utf-8",
  "signin-NdURWHIFDqKk.css": "text/css; charset=utf-8",
  "docs-gjCDaO1IUfmC.js": "text/javascript; charset=utf-8",
  "docs-Sy8kOIbcv5ny.css": "text/css; charset=utf-8",
};
