/** Makes the bundle smaller: removes code of packages that the functions never run. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { replaced, withoutMembers } from "./members.ts";
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
    // `der.ts` has only some exports of the packages that it replaces. The bundler accepts missing exports of a
    // CommonJS module, but not of an ES module.
    builder.onLoad({ filter: /^asn1$/, namespace: "certificates" }, () => ({
      contents: 'module.exports = require("./shared/access/ceremony/der.ts");',
      resolveDir: root,
    }));
    // If the verification of a new passkey calls one of these modules, the call throws a TypeError and the platform
    // rejects the passkey.
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

/** Methods of a connection that `shared/store/client` does not call. They need JetStream code or are large. */
const UNUSED_OF_CONNECTIONS = new Set([
  "jetstream",
  "jetstreamManager",
  "publishMessage",
  "requestMany",
  "respondMessage",
  "rtt",
]);

/** Keeps only the connection code of nats.ws, because `shared/store/client` implements JetStream itself. */
const broker: Plugin = {
  name: "broker",
  setup(builder) {
    // The package's main file contains all its code, and the bundler cannot remove parts of it. Import its source
    // modules instead.
    builder.onResolve({ filter: /^nats\.ws$/ }, () => ({ path: "nats.ws", namespace: "broker" }));
    builder.onLoad({ filter: /^nats\.ws$/, namespace: "broker" }, () => ({
      contents: `
        exports.connect = require("./src/connect.js").connect;
        exports.credsAuthenticator = require("./nats-base-client/authenticator.js").credsAuthenticator;
        exports.Events = require("./nats-base-client/core.js").Events;
      `,
      resolveDir: join(root, "node_modules/nats.ws/lib"),
    }));
    // `internal_mod` exports all modules of the package. Only files in `src` import it, and they need only the modules
    // below.
    builder.onResolve({ filter: /\/internal_mod$/ }, ({ importer }) =>
      /[\\/]nats\.ws[\\/]lib[\\/]src[\\/]/.test(importer)
        ? { path: "internal_mod", namespace: "broker" }
        : undefined,
    );
    const parts = ["core", "databuffer", "nats", "options", "protocol", "transport", "util"];
    builder.onLoad({ filter: /^internal_mod$/, namespace: "broker" }, () => ({
      contents: `module.exports = { ${parts.map((part) => `...require("./${part}")`).join(", ")} };`,
      resolveDir: join(root, "node_modules/nats.ws/lib/nats-base-client"),
    }));
    builder.onLoad({ filter: /[\\/]nats\.ws[\\/]lib[\\/]nats-base-client[\\/]nats\.js$/ }, ({ path }) => ({
      contents: withoutMembers(readFileSync(path, "utf8"), (name) => UNUSED_OF_CONNECTIONS.has(name)),
    }));
    builder.onResolve({ filter: /^tweetnacl$/ }, () => ({
      path: join(root, "scripts/bundle/ed25519.ts"),
    }));
    const unused =
      /[\\/](?:nats\.ws[\\/]lib[\\/](?:jetstream[\\/].*|nats-base-client[\\/](?:service|serviceclient))|nkeys\.js[\\/]lib[\\/]curve)\.js$/;
    builder.onLoad({ filter: unused }, () => ({ contents: "module.exports = {};" }));
  },
};

const UNUSED_OF_RULES = new Set(["asyncMethod", "build", "compile", "deterministic"]);

/**
 * Returns the source of json-logic-engine without its compiler, its optimizer and its asynchronous operators.
 * `shared/modules/rules` counts the steps of a rule, so it uses none of them.
 */
export function reduceRules(source: string): string {
  const rest = withoutMembers(source, (name) => UNUSED_OF_RULES.has(name));
  return replaced(rest, /\/\/ OPTIMIZER BLOCK \/\/.*?\/\/ END OPTIMIZER BLOCK \/\//gs, "");
}

const rules: Plugin = {
  name: "rules",
  setup(builder) {
    builder.onLoad({ filter: /[\\/]json-logic-engine[\\/]dist[\\/]esm[\\/]index\.js$/ }, ({ path }) => ({
      contents: reduceRules(readFileSync(path, "utf8")),
    }));
  },
};

/** Removes the code of rfc6902 that applies patches, because the platform only creates patches. */
const patches: Plugin = {
  name: "patches",
  setup(builder) {
    builder.onLoad({ filter: /[\\/]rfc6902[\\/]patch\.js$/ }, () => ({ contents: "module.exports = {};" }));
  },
};

/**
 * Makes jose refuse all JWE algorithms except `dir`, the only one of `shared/kernel/seal.ts`. The bundler then removes
 * the code of the others.
 */
const encryption: Plugin = {
  name: "encryption",
  setup(builder) {
    const direct = /if \(mode === "direct-encryption"\)\s+return [^;]+;/g;
    builder.onLoad(
      { filter: /[\\/]jose[\\/]dist[\\/]webapi[\\/]lib[\\/]key_management\.js$/ },
      ({ path }) => ({
        contents: replaced(
          readFileSync(path, "utf8"),
          direct,
          '$& throw new JOSENotSupported("only dir is supported");',
        ),
      }),
    );
  },
};

export const slim: readonly Plugin[] = [broker, certificates, encryption, patches, patterns, rules, zod];
