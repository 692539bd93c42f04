// Made by scripts/build-pages.ts from functions/pages/browser and functions/pages/*.css. Do not edit.
/** Addresses of each page's files. */
export const files = {
  signin: { script: "/api/_auth/assets/signin-ZBGqrVtwg3Y1.js", style: "/api/_auth/assets/signin-aPnHlxLLiHKK.css" },
  docs: { script: "/api/_auth/assets/docs-QJ6sSCpdduZc.js", style: "/api/_auth/assets/docs-Sy8kOIbcv5ny.css" },
} as const;
/** Media types of the files by name. The name holds the content's hash. */
export const types: Readonly<Record<string, string>> = {
  "signin-ZBGqrVtwg3Y1.js": "text/javascript; charset=utf-8",
  "signin-aPnHlxLLiHKK.css": "text/css; charset=utf-8",
  "docs-QJ6sSCpdduZc.js": "text/javascript; charset=utf-8",
  "docs-Sy8kOIbcv5ny.css": "text/css; charset=utf-8",
};
