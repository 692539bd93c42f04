/** Removes code of packages that the functions never run, to make the bundle smaller. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { zod } from "./zod.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Replaces the ASN.1 libraries of SimpleWebAuthn by a small parser for signatures, and leaves out its verification of
 * attestation certificates, because `shared/access/ceremony/verify.ts` rejects those first.
 */
const certificates: Plugin = {
  name: "certificates",
  setup(builder) {
    builder.onResolve({ filter: /^@peculiar\// }, () => ({ path: "asn1", namespace: "certificates" }));
    // As a CommonJS module, the replacement may lack exports. With ES modules, the bundler would report an error.
    builder.onLoad({ filter: /^asn1$/, namespace: "certificates" }, () => ({
      contents: 'module.exports = require("./shared/access/ceremony/der.ts");',
      resolveDir: root,
    }));
    // A registration that would call one of these fails with a TypeError, so it is refused.
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
    builder.onResolve({ filter: /^tweetnacl$/ }, () => ({
      path: join(root, "scripts/bundle/ed25519.ts"),
    }));
    const unused =
      /[\\/]nats\.ws[\\/]lib[\\/](?:jetstream[\\/].*|nats-base-client[\\/](?:bench|service|serviceclient|typedsub))\.js$/;
    builder.onLoad({ filter: unused }, () => ({ contents: "module.exports = {};" }));
  },
};

export const slim: readonly Plugin[] = [broker, certificates, zod];
