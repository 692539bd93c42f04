import { z } from "@hono/zod-openapi";
import type { AccountRecord } from "../../shared/access/accounts.ts";
import type { CeremonyStart } from "../../shared/access/ceremony/index.ts";
import type { Invitation } from "../../shared/access/invitations.ts";
import type { Realm } from "../../shared/access/realms.ts";
import { nameFlaw, normalName } from "./display-name.ts";
import { PRINTABLE } from "./printable.ts";

export const TokenSchema = z
  .string()
  .openapi({ description: "JWT, EdDSA. Public keys: GET /api/_auth/jwks." });

export const displayName = z
  .string()
  .overwrite(normalName)
  .min(1)
  .max(64)
  .regex(PRINTABLE, "must not contain control characters or half of a surrogate pair")
  // Skip a name that does not match `PRINTABLE`, because the rule above has already reported that error.
  .refine((name) => !PRINTABLE.test(name) || nameFlaw(name) === undefined, {
    error: ({ input }) => nameFlaw(String(input)) ?? "",
    params: { code: "text" },
  })
  .openapi("DisplayName", {
    description:
      "Stored in NFKC. Without invisible characters, and without words that mix scripts with similar letters.",
  });

const role = z
  .string()
  .openapi({ description: "`owner`, `admin`, `user`, or a role of the orb", example: "user" });

const Purpose = z.enum(["register", "recover"]).openapi({
  description: "register: an invitation, which creates an account; recover: a recovery link",
});

export const InvitationSchema = z
  .object({
    token: z.string().openapi({ description: "The invitation code" }),
    status: z.enum(["active", "used", "expired", "revoked"]),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso
      .datetime()
      .openapi({ description: "7 days after its creation; 24 hours for a recovery link" }),
    purpose: Purpose,
    account: z
      .string()
      .nullable()
      .openapi({ description: "Recovery link: id of the account that it recovers" }),
    role: role.openapi({ description: "The role that it grants; recovery link: the role of the account" }),
    url: z.string().openapi({ description: "Sign-in page with the invitation" }),
    createdBy: z.string().openapi({
      description:
        "Account that created it, which must still have the right to when the invitation is used; `system` for the platform",
    }),
  })
  .openapi("Invitation");

export function invitationResponse(invitation: Invitation): z.infer<typeof InvitationSchema> {
  const { bootstrap: _, ...shown } = invitation;
  return shown;
}

export const InvitationStateSchema = z
  .object({
    status: z.literal("active"),
    expiresAt: z.iso.datetime(),
    role,
    purpose: Purpose,
    name: z
      .string()
      .nullable()
      .openapi({ description: "Recovery link: name of the account that it recovers" }),
  })
  .openapi("InvitationState");

export const AdminSchema = z
  .object({
    id: z.string(),
    email: z.string().optional().openapi({ description: "Missing for passkey-only accounts" }),
    name: z.string().openapi({ example: "user-3f1c9a70" }),
    createdAt: z.iso.datetime(),
    passkeys: z.int().openapi({ description: "Number of passkeys of the account" }),
    service: z.literal(true).optional().openapi({
      description: "A service account: it has no passkeys, and only API tokens act for it",
    }),
  })
  .openapi("PlatformAdmin");

export function adminResponse(account: AccountRecord): z.infer<typeof AdminSchema> {
  return {
    id: account.id,
    ...(account.email === null ? {} : { email: account.email }),
    name: account.name,
    createdAt: account.createdAt,
    passkeys: account.credentials.length,
    ...(account.service === true ? { service: true } : {}),
  };
}

export const UserSchema = z
  .object({
    id: z.string(),
    email: z.string().optional(),
    name: z.string(),
    role,
    status: z.enum(["active", "disabled"]),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    passkeys: z.int(),
    service: z.literal(true).optional().openapi({ description: "A service account, without passkeys" }),
  })
  .openapi("User");

export function userResponse(account: AccountRecord): z.infer<typeof UserSchema> {
  return {
    ...adminResponse(account),
    role: account.role,
    // After an interruption, a registration counts as complete once the account is stored. So show `pending` as
    // `active`.
    status: account.status === "disabled" ? "disabled" : "active",
    updatedAt: account.updatedAt,
  };
}

/** The signed-in account, with what its user interface needs to know about the realm (set of accounts). */
export const OwnAccountSchema = UserSchema.extend({
  realm: z.object({
    id: z.string().openapi({ description: "`platform`, `auth` or an orb's id", example: "shop" }),
    title: z.string().openapi({ description: "Name of the realm on its sign-in page" }),
    ways: z
      .array(z.enum(["passkey", "oauth"]))
      .openapi({ description: "How its users sign in: with passkeys, with providers, or with both" }),
    providers: z.array(z.object({ id: z.string(), name: z.string() })).openapi({
      description: "The providers that the orb offers for sign-in",
    }),
  }),
}).openapi("OwnAccount");

export function ownAccountResponse(account: AccountRecord, realm: Realm): z.infer<typeof OwnAccountSchema> {
  const { name, title, handlers, providers } = realm;
  return {
    ...userResponse(account),
    realm: {
      id: name,
      title,
      ways: (["passkey", "oauth"] as const).filter((way) => handlers.has(way)),
      providers: providers.map((one) => ({ id: one.id, name: one.name ?? one.id })),
    },
  };
}

const service = z
  .literal(true)
  .openapi({ description: "Creates a service account. People register with an invitation." });

export const NewAdminSchema = z.strictObject({ name: displayName, service }).openapi("ServiceAdminInput");

export const newUserSchema = <R extends z.ZodType>(role: R) =>
  z.strictObject({ name: displayName, service, role }).openapi("ServiceUserInput");

export const PasskeySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
    backedUp: z.boolean().openapi({ description: "Whether it is synchronised between devices" }),
    transports: z.array(z.string()),
  })
  .openapi("Passkey");

export const RenameSchema = z.strictObject({ name: displayName });

export const ProfileSchema = z.strictObject({
  name: displayName.optional(),
  email: z.email().max(254).nullable().optional().openapi({ description: "null removes it" }),
});

export const BeginSchema = z.strictObject({
  invite: z
    .string()
    .max(200)
    .optional()
    .openapi({ description: "Invitation code for a registration, or token of a recovery link" }),
  email: z.string().max(254).optional().openapi({
    description:
      "Registration: email of the new account. Sign-in: only the account with this email can complete it.",
  }),
  name: displayName.optional().openapi({ description: "Registration: name of the new account" }),
  recoveryCode: z.string().max(64).optional().openapi({
    description: "Recovery: a recovery code of the account, in upper or lower case, with or without hyphens",
  }),
  removePasskeys: z.boolean().optional().openapi({
    description: "Recovery: true removes the account's other passkeys. They are kept by default.",
  }),
  add: z.boolean().optional().openapi({ description: "true: adds a passkey to the signed-in account" }),
});

export const BeginQuery = z.strictObject({
  invite: z
    .string()
    .max(200)
    .optional()
    .openapi({ description: "Invitation code for a registration, or token of a recovery link" }),
  signup: z.enum(["true", "false"]).optional().openapi({
    description: "`true`: a registration without an invitation, where sign-up is open",
  }),
});

/**
 * WebAuthn options in the format of `PublicKeyCredential.parseCreationOptionsFromJSON` and
 * `parseRequestOptionsFromJSON`.
 */
export const PublicKeySchema = z
  .looseObject({ challenge: z.string() })
  .openapi("PublicKeyOptions", { description: "WebAuthn creation or request options as JSON" });

export function optionsResponse(options: CeremonyStart["publicKey"]): z.infer<typeof PublicKeySchema> {
  return { ...options };
}

const encoded = z.string().max(100_000);
const common = {
  id: z.string().min(1).max(2_000),
  rawId: z.string().min(1).max(2_000),
  type: z.literal("public-key"),
  authenticatorAttachment: z.string().max(64).nullish(),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
};

export const AttestationSchema = z
  .object({
    ...common,
    response: z.looseObject({
      clientDataJSON: encoded,
      attestationObject: encoded,
      transports: z.array(z.string().max(64)).max(16).optional(),
    }),
  })
  .openapi("CreatedCredential", { description: "RegistrationResponseJSON of WebAuthn" });

export const AssertionSchema = z
  .object({
    ...common,
    response: z.looseObject({
      clientDataJSON: encoded,
      authenticatorData: encoded,
      signature: encoded,
      userHandle: z.string().max(2_000).nullish(),
    }),
  })
  .openapi("UsedCredential", { description: "AuthenticationResponseJSON of WebAuthn" });
