import type { BrokerUser } from "./permissions.ts";
import { PERMISSIONS } from "./permissions.ts";

/** A broker's place among those that keep copies together. */
export interface ClusterNode {
  /** Name of this broker, unique among them; its copies are its own for good. */
  name: string;
  /** Port on which the others reach it. */
  port: number;
  /** Ports of all of them. */
  routes: number[];
}

/** What the broker's configuration file is made from. */
export interface BrokerConfig {
  /** Port for clients and for WebSocket clients; -1 lets the broker take a free one. */
  port: number;
  wsPort: number;
  /** Folder of JetStream's files. */
  storeDir: string;
  /** Folder where the broker writes the ports that it took. */
  portsDir: string;
  /** "always", or a duration: how much a power cut may lose. A killed process loses nothing. */
  syncInterval: string;
  /** Users with their passwords. Without any, the broker asks for no credentials: never outside a test. */
  passwords: Partial<Record<BrokerUser, string>>;
  /** One of several that keep copies together; alone without it. */
  cluster?: ClusterNode | undefined;
  /** Most that JetStream may store, such as "8MB"; what the disk holds when missing. */
  maxFileStore?: string | undefined;
  /** False starts a plain broker, for tests of how that is refused. */
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
 * The broker's configuration file. It listens on loopback only. Passwords are plain, as a hashed one would cost
 * each connection tens of milliseconds; the file is readable by its owner alone.
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
  // A server that hangs is noticed within seconds, not minutes: until then it would answer a third of the reads.
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
