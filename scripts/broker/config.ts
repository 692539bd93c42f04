import type { BrokerUser } from "./permissions.ts";
import { PERMISSIONS } from "./permissions.ts";

/**
 * Bytes that the broker buffers for a client before it disconnects the client. A publication of a large change set
 * reaches the processes that follow the application at once, with each entry twice: its log and its live copy.
 */
export const PENDING_BYTES = 512 * 1024 * 1024;
export const MAX_PENDING = `${PENDING_BYTES / 1024 ** 2}MB`;

export interface ClusterNode {
  /** Unique name of this broker. The broker finds its stored data by this name. */
  name: string;
  port: number;
  routes: number[];
}

export interface BrokerConfig {
  /** Ports for TCP and WebSocket clients. With -1, the broker chooses a free port. */
  port: number;
  wsPort: number;
  storeDir: string;
  /** Folder where the broker writes which ports it uses. */
  portsDir: string;
  /**
   * How often the broker writes data to disk: "always", or a duration such as "10s". A power cut may lose the data
   * that was written within this duration.
   */
  syncInterval: string;
  /** Passwords by user name. Without users, the broker accepts every connection. Only tests may omit the users. */
  passwords: Partial<Record<BrokerUser, string>>;
  cluster?: ClusterNode | undefined;
  /** Maximum size of the broker's stored data, such as "8MB". If missing, the broker may use all free disk space. */
  maxFileStore?: string | undefined;
  /** Set to false to start a broker without JetStream, for tests of the error message. */
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
 * Returns the broker's configuration. Passwords are in plain text, because bcrypt hashes would add tens of milliseconds
 * to each connection.
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
  # Atomic batches in flight: beyond these the broker refuses, and the platform tries again. Messages of one batch: a
  # change set with 1,000 entries is published in one.
  limits { batch { max_msgs: 20000, max_inflight_per_stream: 1000, max_inflight_total: 5000, timeout: "2s" } }
}
`;
  const { cluster } = config;
  // Short ping intervals detect a hung server within seconds. Until it is detected, a third of all reads time out,
  // because one of three servers does not answer.
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
max_pending: ${MAX_PENDING}
write_deadline: "5s"
${jetstream}${routes}websocket {
  listen: "127.0.0.1:${config.wsPort}"
  no_tls: true
}
${authorization}`;
}
