/**
 * Platform settings, which platform admins change with the API. They decide whether people can register a shared
 * account without an invitation.
 */
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { nullIfMissing } from "../store/pages.ts";
import { buckets } from "../store/subjects.ts";
import { type Actor, actorId } from "./actor.ts";
import { audit } from "./audit.ts";
import { PLATFORM_REALM, requireOperator } from "./authorize.ts";
import type { Realm } from "./realms.ts";

const KEY = "access";

/** Settings of the shared accounts. All applications that have no accounts of their own use the shared accounts. */
export interface PlatformSettings {
  shared: { signup: "invitation" | "open" };
}

interface SettingsRecord extends PlatformSettings {
  v: 1;
  updatedAt: string;
  updatedBy: string;
}

export interface DescribedSettings extends PlatformSettings {
  /** Null if the settings have never been changed. */
  updatedAt: string | null;
  updatedBy: string | null;
}

async function stored(deps: Deps): Promise<DescribedSettings> {
  // A broker that an older version provisioned has no bucket for settings yet.
  const found = await nullIfMissing(deps.store.kvGet(buckets.platformSettings, KEY));
  if (found === null) return { shared: { signup: "invitation" }, updatedAt: null, updatedBy: null };
  const { shared, updatedAt, updatedBy } = found.json<SettingsRecord>();
  return { shared: { signup: shared.signup }, updatedAt, updatedBy };
}

export async function readPlatformSettings(deps: Deps, actor: Actor): Promise<DescribedSettings> {
  requireOperator(actor, "settings.read");
  return stored(deps);
}

export async function changePlatformSettings(
  deps: Deps,
  actor: Actor,
  settings: PlatformSettings,
): Promise<DescribedSettings> {
  requireOperator(actor, "settings.write");
  const { signup } = settings.shared;
  const updatedAt = new Date(deps.clock.now()).toISOString();
  const record: SettingsRecord = { v: 1, shared: { signup }, updatedAt, updatedBy: actorId(actor) };
  await deps.store.kvPut(buckets.platformSettings, KEY, JSON.stringify(record));
  await audit(deps, { realm: PLATFORM_REALM, action: "settings", actor, detail: `shared_signup_${signup}` });
  return { shared: { signup }, updatedAt, updatedBy: record.updatedBy };
}

/** Returns whether people can register without an invitation. */
export async function isSignupOpen(deps: Deps, realm: Realm): Promise<boolean> {
  if (realm.signup !== "setting") return realm.signup === "open";
  return (await stored(deps)).shared.signup === "open";
}

/** Throws 403 if registering an account requires an invitation. */
export async function requireOpenSignup(deps: Deps, realm: Realm): Promise<void> {
  if (await isSignupOpen(deps, realm)) return;
  throw new AppError("forbidden", "signup_closed", "Accounts need an invitation here. Ask for one.");
}
