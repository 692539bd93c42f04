/** Makes the bundle smaller: removes code of packages that the functions never run. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { patterns } from "./patterns.ts";
import { zod } from "./zod.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Replaces the ASN.1 libraries of SimpleWebAuthn with a small parser for signatures. Removes the code that verifies
 * attestation certificates, because `shared/access/ceremony/verify.ts` rejects a registration with certificates
 * before that code could run.
 */
const certificates: Plugin = {
  name: "certificates",
  setup(builder) {
    builder.onResolve({ filter: /^@peculiar\// }, () => ({ path: "asn1", namespace: "certificates" }));
    // The replacement lacks some exports. The bundler accepts missing exports of a CommonJS module, but not of an ES
    // module.
    builder.onLoad({ filter: /^asn1$/, namespace: "certificates" }, () => ({
      contents: 'module.exports = require("./shared/access/ceremony/der.ts");',
      resolveDir: root,
    }));
    // If a registration calls one of these modules, the call throws a TypeError and the platform rejects the
    // registration.
    const unused =
      /^\.{1,2}\/(?:.*\/)?(?:metadata|defaultRootCerts|tpm)\/|\/(?:metadataService|verifyAttestation(?:FIDOU2F|Android\w+|Apple)|logging|isCertRevoked|getCertificateInfo|validate\w+|convertX509\w+|convertCert\w+|mapX509\w+)\.js$/;
    builder.onResolve({ filter: unused }, ({ importer }) =>
      /[\\/]@simplewebauthn[\\/]server[\\/]/.test(importer)
        ? { path: "unused", namespace: "certificates" }
        : undefined,
    );
    builder.onLoad({ filter: /^unused$/, namespace: "certificates" }, () => ({
      contents: "module.exports = {};",
    }));
  },
};

/** Keeps only the connection code of nats.ws, because `shared/store/client` implements JetStream itself. */
const broker: Plugin = {
  name: "broker",
  setup(builder) {
    // The package's main file contains all its code, and the bundler cannot remove parts of it. Import its source
    // modules instead.
    builder.onResolve({ filter: /^nats\.ws$/ }, () => ({ path: "nats.ws", namespace: "broker" }));
    builder.onLoad({ filter: /.*/, namespace: "broker" }, () => ({
      contents: `
        exports.connect = require("./src/connect.js").connect;
        exports.credsAuthenticator = require("./nats-base-client/authenticator.js").credsAuthenticator;
        exports.Events = require("./nats-base-client/core.js").Events;
      `,
      resolveDir: join(root, "node_modules/nats.ws/lib"),
    }));
    builder.onResolve({ filter: /^tweetnacl$/ }, () => ({
      path: join(root, "scripts/bundle/ed25519.ts"),
    }));
    const unused =
      /[\\/]nats\.ws[\\/]lib[\\/](?:jetstream[\\/].*|nats-base-client[\\/](?:bench|service|serviceclient|typedsub))\.js$/;
    builder.onLoad({ filter: unused }, () => ({ contents: "module.exports = {};" }));
  },
};

export const slim: readonly Plugin[] = [broker, certificates, patterns, zod];
