import { setTimeout as delay } from "node:timers/promises";
import { connect, headers, type NatsConnection } from "nats";
import { HookWorker, type WorkerOptions } from "../../shared/hooks/after/worker.ts";
import type { TestBroker } from "./broker.ts";
import { entryOf } from "./services.ts";

/** A hook call as the service receives it. */
export interface HookCall {
  orbId: string;
  handler: string;
  hook?: string;
  /** Set if a schedule made the call. `input` is then the input from the document. */
  schedule?: { id: string; at: string; delivery: { id: string; attempt: number } };
  input: {
    event: string;
    entry: { id: string; revision: number; status: string; change?: string; values: Record<string, unknown> };
    /** Set in place of the entry if the event is about a change set. */
    change?: Record<string, unknown> & { id: string; revision: number; state: string; changedBy: string };
    /** Set in place of the entry if the event is about a comment on a change set. */
    comment?: Record<string, unknown> & { id: string };
    previous?: { revision: number; values: Record<string, unknown> } | null;
    delivery?: { id: string; attempt: number };
  };
  caller: { sub: string; role: string } | null;
}

/** An error response of a service. */
export class Refusal {
  readonly status: string;
  readonly words: string;
  constructor(status: string, words: string) {
    this.status = status;
    this.words = words;
  }
}

type Answer = (call: HookCall) => unknown;

/** A service that handles hooks. Each test sets how the service responds. */
export interface HookService extends AsyncDisposable {
  /** Received calls in order of arrival. */
  calls: HookCall[];
  /** Largest number of calls that ran at the same time. */
  most: number;
  /** Returns the response to a call, or a promise of the response. */
  answer: Answer;
  close(): Promise<void>;
}

/** Registers a handler and starts a service that responds to its calls. */
export async function hookService(broker: Pick<TestBroker, "tcpUrl">, name: string): Promise<HookService> {
  const url = new URL(broker.tcpUrl());
  const connection: NatsConnection = await connect({
    servers: url.host,
    user: url.username,
    pass: url.password,
  });
  let running = 0;
  const service: HookService = {
    calls: [],
    most: 0,
    answer: () => null,
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  };
  connection.subscribe(`svc.${name}`, {
    callback: (_error, message) => {
      const call = message.json<HookCall>();
      service.calls.push(call);
      service.most = Math.max(service.most, ++running);
      void Promise.resolve(service.answer(call)).then((answer) => {
        running--;
        if (!(answer instanceof Refusal)) return message.respond(JSON.stringify(answer));
        const refusal = headers();
        refusal.set("Nats-Service-Error-Code", answer.status);
        refusal.set("Nats-Service-Error", answer.words);
        return message.respond("", { headers: refusal });
      });
    },
  });
  const entry = entryOf(name, { auth: "AdminRequired", timeoutMs: 30_000 });
  await connection.request(`$KV.handlers.${name}`, JSON.stringify(entry));
  return service;
}

/** Starts workers, which call hooks, as several processes would. @param deps default dependencies of a worker */
export function hookWorkers(deps: ConstructorParameters<typeof HookWorker>[0]) {
  const running: HookWorker[] = [];
  let started = 0;
  return {
    /** Starts another worker. @param by dependencies, for example with a store that fails */
    work(more: Partial<WorkerOptions> = {}, by = deps): HookWorker {
      const worker = new HookWorker(by, {
        name: `w${++started}`,
        attempts: 3,
        retryMs: 20,
        post: () => Promise.reject(new Error("no webhook")),
        ...more,
      });
      running.push(worker);
      worker.start();
      return worker;
    },
    stop: () => Promise.all(running.splice(0).map((worker) => worker.stop())),
  };
}

/** Reads a value repeatedly until it meets a condition. Throws after 30 seconds. */
export async function until<T>(read: () => T | Promise<T>, fits: (value: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + 30_000; ; await delay(20)) {
    const value = await read();
    if (fits(value)) return value;
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(value)}`);
  }
}
