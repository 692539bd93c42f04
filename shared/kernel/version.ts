/** Must equal the version in package.json. A test compares them. */
export const VERSION = "0.2.0";
