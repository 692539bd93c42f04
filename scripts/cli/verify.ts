/** The command `orb verify`: lets the platform check the stored data of orbs. */
import { linesOf } from "../../shared/rows/lines.ts";
import { lineOf } from "../doctor/finding.ts";
import { CommandError, type Context } from "./command/context.ts";
import { everyOrb } from "./schemas.ts";

/** Damages that a server names at most. */
const MOST_DAMAGES = 1_000;

interface Damage {
  stream: string;
  from?: number;
  to?: number;
  says: string;
}

type Line = { kind: "running" } | ({ kind: "damage" } & Damage) | { kind: "end"; damages: number };

interface Verified {
  orb: string;
  /** Number of damages. The list contains at most 1,000 of them. */
  total: number;
  damages: Damage[];
}

/** Yields the lines of a response as they arrive. Ends at an empty line, which only the end of the response has. */
async function* linesIn({ body }: Response): AsyncGenerator<Line> {
  if (body === null) return;
  const text = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>);
  for await (const line of linesOf(text)) {
    if (line === "") return;
    yield JSON.parse(line) as Line;
  }
}

async function verifyOne({ transport }: Context, orb: string): Promise<Verified> {
  const path = `/api/admin/orbs/${encodeURIComponent(orb)}/verify`;
  const response = await transport.send({ method: "GET", path, repeat: "safe" });
  const damages: Damage[] = [];
  for await (const line of linesIn(response)) {
    if (line.kind === "end") return { orb, total: line.damages, damages };
    if (line.kind === "running") continue;
    if (damages.length === MOST_DAMAGES)
      throw new CommandError(
        `The server named more than ${MOST_DAMAGES} damages of ${orb}. Check the address.`,
      );
    const { kind: _, ...damage } = line;
    damages.push(damage);
  }
  throw new CommandError(
    `The check of ${orb} ended early, so its result is unknown. Run it again, or run npm run doctor -- --deep on the server.`,
  );
}

function textOf({ stream, from, to, says }: Damage): string {
  if (from === undefined) return `${stream}: ${says}`;
  const range = to === undefined || to === from ? `sequence ${from}` : `sequences ${from} to ${to}`;
  return `${stream}, ${range}: ${says}`;
}

function lines({ orb, total, damages }: Verified): string[] {
  if (total === 0)
    return [lineOf({ level: "ok", about: orb, says: "All stored data can be read and agrees with itself." })];
  const more = total - damages.length;
  const all = damages.map((damage) => lineOf({ level: "fail", about: orb, says: textOf(damage) }));
  return [
    ...all,
    ...(more > 0 ? [lineOf({ level: "fail", about: orb, says: `${more} more damages.` })] : []),
  ];
}

/** Checks orbs one after the other. The exit code is 1 if one of them is damaged. */
export async function verify(context: Context, given: readonly string[]): Promise<number> {
  const verified: Verified[] = [];
  for (const orb of given.length > 0 ? given : await everyOrb(context)) {
    context.note(`Checking ${orb} …`);
    verified.push(await verifyOne(context, orb));
  }
  const isDamaged = verified.some(({ total }) => total > 0);
  context.result(verified, () => [
    ...verified.flatMap(lines),
    ...(isDamaged
      ? ['→ Follow "When the platform reports lost data" in docs/guides/back-up-and-restore.md.']
      : []),
  ]);
  return isDamaged ? 1 : 0;
}
