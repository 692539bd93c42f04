/** Removes code of packages that the functions never run, to make the bundle smaller. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Replaces the ASN.1 libraries of SimpleWebAuthn by a small parser for signatures. SimpleWebAuthn needs the libraries
 * for attestation certificates, but `shared/access/ceremony/verify.ts` rejects those first.
 */
const certificates: Plugin = {
  name: "certificates",
  setup(builder) {
    builder.onResolve({ filter: /^@peculiar\// }, () => ({ path: "asn1", namespace: "certificates" }));
    // As a CommonJS module, the replacement may lack exports. With ES modules, the bundler would report an error.
    builder.onLoad({ filter: /.*/, namespace: "certificates" }, () => ({
      contents: 'module.exports = require("./shared/access/ceremony/der.ts");',
      resolveDir: root,
    }));
  },
};

/** Keeps only the connection of nats.ws, because `shared/store/client` implements JetStream itself. */
const broker: Plugin = {
  name: "broker",
  setup(builder) {
    // The package is a single file that the bundler cannot reduce, so import the modules that it was built from.
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

/** Removes parts of zod that the bundler would keep because zod exports them as a namespace. */
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
