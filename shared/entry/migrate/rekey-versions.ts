/** Key rotation for change sets: encrypts the pending versions of entries with the current key. */
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { scanPages, untilWritten } from "../../store/pages.ts";
import { lastToken, streams, subjects } from "../../store/subjects.ts";
import {
  addressIn,
  needsReseal,
  nullIfMissing,
  type OrbContext,
  resealValues,
  schemaOf,
  snapshotOf,
  withNames,
  withStoredNames,
} from "../model/index.ts";

const VERSIONS_PER_READ = 200;

export interface RekeyedVersions {
  resealed: number;
  /** Ids of entries whose versions cannot be decrypted, because their encryption key is missing. */
  failed: string[];
}

/** Encrypts the versions of all sets, also of those that were published or closed. Approvals of a set stay valid. */
export async function rekeyVersions(deps: Deps, context: OrbContext): Promise<RekeyedVersions> {
  const { orb } = context;
  const done: RekeyedVersions = { resealed: 0, failed: [] };
  const filter = subjects.allChangeVersions(orb);
  const read = async (fromSeq: number) =>
    (await nullIfMissing(
      deps.store.scan(streams.orb(orb), filter, { fromSeq, limit: VERSIONS_PER_READ, maxBytes: READ_BYTES }),
    )) ?? { messages: [], pending: 0 };
  for await (const versions of scanPages(read)) {
    for (const { subject } of versions) {
      try {
        if (await untilWritten(() => resealVersion(deps, context, subject))) done.resealed++;
      } catch (error) {
        if (!(error instanceof AppError && error.code === "sealed_value_lost")) throw error;
        done.failed.push(lastToken(subject));
      }
    }
  }
  return done;
}

async function resealVersion(deps: Deps, { orb, compiled }: OrbContext, subject: string): Promise<boolean> {
  const message = await deps.store.get(streams.orb(orb), subject);
  const stored = snapshotOf(message);
  if (message === null || stored === null) return false;
  const schema = schemaOf(compiled, addressIn(subject));
  const named = withNames(schema, stored);
  if (!needsReseal(deps.config, named.values)) return false;
  const values = await resealValues(deps.config, schema, named);
  const body = { ...stored, values: withStoredNames(schema, { ...named, values }).values };
  await deps.store.append(streams.orb(orb), {
    subject,
    data: JSON.stringify(body),
    rollup: true,
    expect: { seq: message.seq },
  });
  return true;
}
