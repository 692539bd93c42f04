/** Leaves out code of packages that the functions never run. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Replaces the ASN.1 libraries of SimpleWebAuthn by a reader of signatures. SimpleWebAuthn needs the rest of them for
 * attestation certificates, which `shared/access/ceremony/verify.ts` refuses before.
 */
const certificates: Plugin = {
  name: "certificates",
  setup(builder) {
    builder.onResolve({ filter: /^@peculiar\// }, () => ({ path: "asn1", namespace: "certificates" }));
    // With CommonJS, names that are missing here are undefined instead of an error of the bundler.
    builder.onLoad({ filter: /.*/, namespace: "certificates" }, () => ({
      contents: 'module.exports = require("./shared/access/ceremony/der.ts");',
      resolveDir: root,
    }));
  },
};

/** Keeps the connection of nats.ws. The store speaks to JetStream itself (`shared/store/client`). */
const broker: Plugin = {
  name: "broker",
  setup(builder) {
    // The single file of the package cannot be reduced, so take its parts.
    builder.onResolve({ filter: /^nats\.ws$/ }, () => ({ path: "nats.ws", namespace: "broker" }));
    builder.onLoad({ filter: /.*/, namespace: "broker" }, () => ({
      contents: `
        exports.connect = require("./src/connect.js").connect;
        exports.credsAuthenticator = require("./nats-base-client/authenticator.js").credsAuthenticator;
        exports.Events = require("./nats-base-client/core.js").Events;
      `,
      resolveDir: join(root, "node_modules/nats.ws/lib"),
    }));
    const unused =
      /[\\/]nats\.ws[\\/]lib[\\/](?:jetstream[\\/].*|nats-base-client[\\/](?:bench|service|serviceclient|typedsub))\.js$/;
    builder.onLoad({ filter: unused }, () => ({ contents: "module.exports = {};" }));
  },
};

/** Parts of zod that its namespace keeps in every bundle. */
const zod: Plugin = {
  name: "zod",
  setup(builder) {
    builder.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
    builder.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]classic[\\/]from-json-schema\.js$/ }, () => ({
      contents: 'export function fromJSONSchema() { throw new Error("is not in the bundle"); }',
    }));
  },
};

export const slim: readonly Plugin[] = [broker, certificates, zod];
