// Made by scripts/build-pages.ts from functions/pages/browser and functions/pages/*.css. Do not edit.
/** Addresses of each page's files. */
export const files = {
  signin: { script: "/api/_auth/assets/signin-HW1HKdkzoIUM.js", style: "/api/_auth/assets/signin-jFUorTcb9NG1.css" },
  docs: { script: "/api/_auth/assets/docs-QJ6sSCpdduZc.js", style: "/api/_auth/assets/docs-Sy8kOIbcv5ny.css" },
} as const;
/** Media types of the files by name. The name holds the content's hash. */
export const types: Readonly<Record<string, string>> = {
  "signin-HW1HKdkzoIUM.js": "text/javascript; charset=utf-8",
  "signin-jFUorTcb9NG1.css": "text/css; charset=utf-8",
  "docs-QJ6sSCpdduZc.js": "text/javascript; charset=utf-8",
  "docs-Sy8kOIbcv5ny.css": "text/css; charset=utf-8",
};
