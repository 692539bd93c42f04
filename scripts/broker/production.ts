/**
 * Renders the brokers' configurations: `node scripts/broker/production.ts [--single] [service …]`. Without names of
 * services, the output is production.conf or single.conf, with an example of a service in comments.
 */
import { pathToFileURL } from "node:url";
import { PERMISSIONS } from "./permissions.ts";

const list = (subjects: string[], indent: string) =>
  `[\n${subjects.map((subject) => `${indent}  ${JSON.stringify(subject)}`).join("\n")}\n${indent}]`;

function user(name: keyof typeof PERMISSIONS): string {
  const { publish, subscribe, connections } = PERMISSIONS[name];
  const part = ({ allow, deny }: typeof publish) =>
    [
      "{",
      `            allow: ${list(allow, "            ")}`,
      ...(deny === undefined ? [] : [`            deny: ${list(deny, "            ")}`]),
      "          }",
    ].join("\n");
  return `      {
        user: ${name}
        password: $${name.toUpperCase()}_PASSWORD${
          connections === undefined
            ? ""
            : `\n        allowed_connection_types: [${connections.map((kind) => JSON.stringify(kind)).join(", ")}]`
        }
        permissions {
          publish: ${part(publish)}
          subscribe: ${part(subscribe)}
        }
      }`;
}

/** A service, and the handlers that it may register. Undefined for any number of them. */
interface Service {
  name: string;
  handlers: readonly string[] | undefined;
}

/**
 * Connections of one service, and subscriptions of each connection. The broker keeps up to 64 MiB for a connection that
 * does not read, and a message once for each of its subscriptions. So a hostile service costs the broker about 1 GiB.
 */
const SERVICE_LIMITS = "limits: { max_connections: 16, max_subscriptions: 500 }";

const accountOf = (service: string) => `SERVICE_${service}`;
const answers = (service: string) => `svc.${service}.>`;
/**
 * Key-value clients request information about a bucket before they use it. In a service's account, which has no
 * JetStream, the broker would answer this request with an error. The mapping to another subject makes the broker pass
 * the request to the platform's account.
 */
const BUCKET = "$JS.API.STREAM.INFO.KV_handlers";
const MAPPED = "_handlers.info";
/** Subjects of the requests with which a service stores and reads its registration. */
const ownRequests = ({ name, handlers = [">"] }: Service) =>
  handlers.flatMap((handler) => [
    `$KV.handlers.${name}.${handler}`,
    `$JS.API.DIRECT.GET.KV_handlers.$KV.handlers.${name}.${handler}`,
  ]);

/**
 * Returns the configuration of a service's broker account. Each service has its own account, which cannot reach the
 * subjects of other accounts. In the platform's account, a service could name an entry's subject for a reply, and the
 * broker would store the reply as an entry.
 */
function service(of: Service): string {
  const { name } = of;
  return `  ${accountOf(name)} {
    ${SERVICE_LIMITS}
    exports: [{ service: "${answers(name)}", accounts: [PLATFORM], allow_trace: true }]
    mappings: { "${BUCKET}": "${MAPPED}" }
    imports: [
${ownRequests(of)
  .map((subject) => `      { service: { account: PLATFORM, subject: "${subject}" } }`)
  .join("\n")}
      { service: { account: PLATFORM, subject: "${BUCKET}" }, to: "${MAPPED}" }
    ]
    users: [
      {
        user: ${name}
        password: $${name.toUpperCase()}_PASSWORD
        permissions {
          publish: { allow: ${JSON.stringify([...ownRequests(of), MAPPED]).replaceAll(",", ", ")} }
          subscribe: { allow: ["_INBOX.>", "$SRV.>", "${answers(name)}"] }
          allow_responses: { max: 1, expires: "30s" }
        }
      }
    ]
  }`;
}

/** Returns the subjects that the platform's account makes available to a service's account. */
const exportsTo = (of: Service) =>
  ownRequests(of)
    .map((subject) => `      { service: "${subject}", accounts: [${accountOf(of.name)}] }`)
    .join("\n");
const importsFrom = ({ name }: Service) =>
  `      { service: { account: ${accountOf(name)}, subject: "${answers(name)}" } }`;

/** Beginning of the configuration of one of three brokers. */
const CLUSTER = `# Configuration of one of three brokers. Use this file on each. Write a file variables.conf beside it, with mode 0600:
#
#   NODE_SERVER_NAME: "n1"                                 # unique; never change it
#   NODE_STORE_DIR: "/var/lib/nats"
#   NODE_CERT_FILE: "/etc/nats/cert.pem"                   # for the host names that clients and brokers use
#   NODE_KEY_FILE: "/etc/nats/key.pem"
#   NODE_CA_FILE: "/etc/nats/ca.pem"                       # authority that signed the brokers' certificates
#   NODE_CLIENT_LISTEN: "10.0.0.1:4222"                    # services and operators
#   NODE_WEBSOCKET_LISTEN: "0.0.0.0:443"                   # the functions and the streams process
#   NODE_CLUSTER_LISTEN: "10.0.0.1:6222"                   # other brokers only; block it for everyone else
#   NODE_ROUTES: ["tls://n1.internal:6222", "tls://n2.internal:6222", "tls://n3.internal:6222"]
#   NODE_MAX_FILE_STORE: 200GB                             # less than the disk; a full disk stops writes
#   FN_PASSWORD: "…"  STREAMS_PASSWORD: "…"  DEPLOY_PASSWORD: "…"  OPERATOR_PASSWORD: "…"  SYSTEM_PASSWORD: "…"
#
# Use long random passwords ("openssl rand -hex 24"). Do not hash them: checking a hash takes tens of milliseconds for
# each connection, and on the edge each request opens one. To rotate a password, change it on all brokers, run
# "nats-server --signal reload" there, and change it in the programs that use it.
#
# Set for the platform: NATS_URL=wss://n1…,wss://n2…,wss://n3… and NATS_REPLICAS=3. NATS_USER is fn for the functions,
# streams for the streams process, and deploy for "npm run provision".
# production.ts renders this file from permissions.ts.

include "variables.conf"

server_name: $NODE_SERVER_NAME
listen: $NODE_CLIENT_LISTEN
max_payload: 4MB
max_connections: 20000
max_subscriptions: 10000
max_control_line: 4KB
ping_interval: "20s"
# A large change set reaches the processes that follow the application at once. With less, the broker disconnects them.
max_pending: 512MB
write_deadline: "5s"
tls {
  cert_file: $NODE_CERT_FILE
  key_file: $NODE_KEY_FILE
  min_version: "1.2"
}

jetstream {
  store_dir: $NODE_STORE_DIR
  max_file_store: $NODE_MAX_FILE_STORE
  # An acknowledged write is on disk. A duration such as "1s" is faster. It loses writes only if all three brokers lose
  # power within that time.
  sync_interval: always
  limits { batch { max_msgs: 20000, max_inflight_per_stream: 1000, max_inflight_total: 5000, timeout: "2s" } }
}

cluster {
  name: "platform"
  listen: $NODE_CLUSTER_LISTEN
  routes: $NODE_ROUTES
  # Detects a broker that hangs within seconds.
  ping_interval: "2s"
  tls {
    cert_file: $NODE_CERT_FILE
    key_file: $NODE_KEY_FILE
    ca_file: $NODE_CA_FILE
    verify: true
  }
}

websocket {
  listen: $NODE_WEBSOCKET_LISTEN
  handshake_timeout: "5s"
  tls {
    cert_file: $NODE_CERT_FILE
    key_file: $NODE_KEY_FILE
    min_version: "1.2"
  }
}

`;

/** Beginning of the configuration of the only broker, for programs on the same machine. */
const SINGLE = `# Configuration of the only broker, for a platform and handler services on the same machine. Write a file
# variables.conf beside it, with mode 0600. It must name these variables and no others:
#
#   NODE_STORE_DIR: "/var/lib/nats"
#   NODE_MAX_FILE_STORE: 200GB                             # less than the disk; a full disk stops writes
#   FN_PASSWORD: "…"  STREAMS_PASSWORD: "…"  DEPLOY_PASSWORD: "…"  OPERATOR_PASSWORD: "…"  SYSTEM_PASSWORD: "…"
#
# Use long random passwords ("openssl rand -hex 24"). Do not hash them: checking a hash takes tens of milliseconds for
# each connection. To rotate a password, change it here, run "nats-server --signal reload", and change it in the programs
# that use it.
#
# Set for the platform: NATS_URL=ws://127.0.0.1:8443. NATS_USER is fn for the host, streams for the streams process, and
# deploy for "npm run provision". Services connect to nats://127.0.0.1:4222.
# production.ts renders this file from permissions.ts.

include "variables.conf"

server_name: "platform"
listen: "127.0.0.1:4222"
max_payload: 4MB
max_connections: 20000
max_subscriptions: 10000
max_control_line: 4KB
ping_interval: "20s"
# A large change set reaches the processes that follow the application at once. With less, the broker disconnects them.
max_pending: 512MB
write_deadline: "5s"

jetstream {
  store_dir: $NODE_STORE_DIR
  max_file_store: $NODE_MAX_FILE_STORE
  # An acknowledged write is on disk. A duration such as "1s" is faster, and a power cut loses the writes of that time.
  sync_interval: always
  limits { batch { max_msgs: 20000, max_inflight_per_stream: 1000, max_inflight_total: 5000, timeout: "2s" } }
}

websocket {
  # Programs on this machine only, so the connection needs no TLS.
  listen: "127.0.0.1:8443"
  no_tls: true
  handshake_timeout: "5s"
}

`;

/** Names of services are parts of subjects and of accounts. */
const SERVICE = /^[a-z][a-z0-9_-]*$/;
const HANDLER = /^[A-Za-z0-9_-]+$/;

/** @throws Error for a name that a service or a handler cannot have */
function serviceOf(text: string): Service {
  const [name = "", list, ...more] = text.split(":");
  const handlers = list?.split(",");
  if (!SERVICE.test(name) || more.length > 0 || handlers?.some((one) => !HANDLER.test(one)))
    throw new Error(
      `${JSON.stringify(text)} is not the name of a service, such as shipping or shipping:quote,track.`,
    );
  return { name, handlers };
}

/**
 * Returns the broker configuration for production.
 * @param services names of services, each perhaps with a colon and the names of the only handlers that it may register;
 *   without any, the output contains a commented example
 * @param kind one of three brokers, or the only one
 * @throws Error for a name that a service cannot have
 */
export function renderProduction(
  services: readonly string[] = [],
  kind: "cluster" | "single" = "cluster",
): string {
  const named = (services.length === 0 ? ["shipping"] : services).map(serviceOf);
  /** Turns lines into comments if there are no services, so that they are only an example. */
  const shown = (indent: string, lines: string) =>
    services.length === 0 ? lines.replace(new RegExp(`^${indent}`, "gm"), `${indent}# `) : lines;
  return `${kind === "single" ? SINGLE : CLUSTER}system_account: SYS
accounts {
  SYS { users: [{ user: system, password: $SYSTEM_PASSWORD }] }
  PLATFORM {
    jetstream: enabled
    users: [
${(Object.keys(PERMISSIONS) as (keyof typeof PERMISSIONS)[]).map(user).join("\n")}
    ]
    # Each handler service has an account and a user of its own, and answers for its own name and registers it, no more.
    # It needs its lines in all three places:
    exports: [
${shown("      ", named.map(exportsTo).join("\n"))}
${shown("      ", `      { service: "${BUCKET}", accounts: [${named.map(({ name }) => accountOf(name)).join(", ")}] }`)}
    ]
    imports: [
${shown("      ", named.map(importsFrom).join("\n"))}
    ]
  }
${shown("  ", named.map(service).join("\n"))}
}
`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const names = process.argv.slice(2);
  const services = names.filter((name) => name !== "--single");
  process.stdout.write(renderProduction(services, services.length < names.length ? "single" : "cluster"));
}
