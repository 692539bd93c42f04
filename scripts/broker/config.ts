import type { BrokerUser } from "./permissions.ts";
import { PERMISSIONS } from "./permissions.ts";

/** A broker's position in a cluster. */
export interface ClusterNode {
  /** Unique name of this broker. Its data belongs to this name. */
  name: string;
  /** Port for the other brokers. */
  port: number;
  /** Cluster ports of all brokers. */
  routes: number[];
}

/** Input of the broker's configuration file. */
export interface BrokerConfig {
  /** Ports for TCP and WebSocket clients; -1 takes a free one. */
  port: number;
  wsPort: number;
  /** Folder of JetStream's files. */
  storeDir: string;
  /** Folder where the broker writes down its ports. */
  portsDir: string;
  /** "always" or a duration: how much a power cut may lose. A killed process loses nothing. */
  syncInterval: string;
  /** Users with their passwords. Without users, the broker needs no credentials, which only tests may use. */
  passwords: Partial<Record<BrokerUser, string>>;
  /** Set if the broker is part of a cluster. */
  cluster?: ClusterNode | undefined;
  /** Storage limit of JetStream, such as "8MB"; the free disk space if missing. */
  maxFileStore?: string | undefined;
  /** False starts a broker without JetStream, for tests of the error message. */
  jetstream?: boolean;
}

const text = (value: string | string[]) => JSON.stringify(value);

const subjects = ({ allow, deny }: { allow: string[]; deny?: string[] }) =>
  `{ allow: ${text(allow)}${deny === undefined ? "" : `, deny: ${text(deny)}`} }`;

function user(name: BrokerUser, password: string): string {
  const { publish, subscribe, connections } = PERMISSIONS[name];
  const types = connections === undefined ? "" : `\n      allowed_connection_types: ${text(connections)}`;
  return `    {
      user: ${text(name)}, password: ${text(password)}
      permissions: {
        publish: ${subjects(publish)}
        subscribe: ${subjects(subscribe)}
      }${types}
    }`;
}

/**
 * The broker's configuration file. The broker listens on loopback only. Passwords are in plain text, because a bcrypt
 * hash costs each connection tens of milliseconds; only the owner can read the file.
 */
export function renderConfig(config: BrokerConfig): string {
  const users = Object.entries(config.passwords).map(([name, password]) =>
    user(name as BrokerUser, password),
  );
  const authorization =
    users.length === 0 ? "" : `authorization {\n  users: [\n${users.join("\n")}\n  ]\n}\n`;
  const jetstream =
    config.jetstream === false
      ? ""
      : `jetstream {
  store_dir: ${text(config.storeDir)}
  sync_interval: ${text(config.syncInterval)}${config.maxFileStore === undefined ? "" : `\n  max_file_store: ${config.maxFileStore}`}
  # Atomic batches in flight: beyond these the broker refuses, and the platform tries again.
  limits { batch { max_inflight_per_stream: 1000, max_inflight_total: 5000, timeout: "2s" } }
}
`;
  const { cluster } = config;
  // Detects a hung server within seconds. Until then a third of the direct gets would time out.
  const routes =
    cluster === undefined
      ? ""
      : `cluster {
  name: "platform"
  listen: "127.0.0.1:${cluster.port}"
  ping_interval: "2s"
  routes: ${text(cluster.routes.map((port) => `nats://127.0.0.1:${port}`))}
}
`;
  return `# Made by the platform's launcher at each start; changes here are lost.
server_name: ${text(cluster?.name ?? "platform")}
listen: "127.0.0.1:${config.port}"
ports_file_dir: ${text(config.portsDir)}
max_payload: 4MB
ping_interval: "20s"
write_deadline: "5s"
${jetstream}${routes}websocket {
  listen: "127.0.0.1:${config.wsPort}"
  no_tls: true
}
${authorization}`;
}
