import { serveFunctions } from "../host/functions.ts";
import { freePort } from "../process/ports.ts";
import { startDelay } from "./delay.ts";
import type { Target } from "./measure.ts";
import { childOf, type Served, type Stand } from "./stand.ts";
import { type Seeded, targetsOf } from "./targets.ts";

/** Round trip to a distant broker in milliseconds. */
export const DISTANT_MS = 40;

export interface Links extends AsyncDisposable {
  targets: Target[];
  /** Returns the name of the target that sends the same requests as the named target, but without Durable Objects. */
  without: (name: string) => string;
}

export async function startLinks(
  stand: Stand,
  seeded: Seeded,
  token: string,
  requests: readonly string[],
): Promise<Links> {
  await using stack = new AsyncDisposableStack();
  const near = stand.bindings.NATS_URL ?? "";
  const far = stack.use(await startDelay(Number(new URL(near).port), DISTANT_MS / 2)).url;
  const serve = async (link: boolean, url: string): Promise<Served> => {
    const port = await freePort();
    const bindings = { ...stand.bindings, NATS_URL: url };
    const log = (line: string) => console.error(`  ${line}`);
    const options = { host: "127.0.0.1", port, bindings, log, programs: stand.programs, link };
    const { value, pid } = await childOf(/workerd/, () => serveFunctions(options));
    stack.use(value);
    return { url: `http://127.0.0.1:${port}`, pid };
  };
  const parts: [string, Served][] = [
    ["", stand.functions],
    ["link: ", await serve(true, near)],
    ["far: ", await serve(false, far)],
    ["far, link: ", await serve(true, far)],
  ];
  const targets = parts.flatMap(([label, part]) =>
    targetsOf(stand, part, seeded, token, label).filter(({ name }) =>
      requests.includes(name.slice(label.length)),
    ),
  );
  const all = stack.move();
  return {
    targets,
    without: (name) => name.replace(/^link: /, "").replace("far, link", "far"),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
