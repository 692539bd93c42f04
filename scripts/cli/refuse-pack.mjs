/** Stops `npm pack` and `npm publish` in the root folder, where they would pack the platform instead of its client. */
console.error("Run npm run build:package. It packs the client and the command orb into dist.");
process.exit(1);
