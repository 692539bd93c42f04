/** Hooks of an application: handlers and webhooks that the platform calls when an entry is written. */
import { z } from "zod";
import { HANDLER_NAME, MODULE_ID } from "./ids.ts";
import { isLoopback } from "./providers.ts";

export const HOOK_LIMITS = { hooks: 50 } as const;

const ENTRY_EVENTS = [
  "entry.created",
  "entry.updated",
  "entry.published",
  "entry.unpublished",
  "entry.archived",
  "entry.restored",
  "entry.deleted",
] as const;
/** An event about an entry. */
export type EntryEvent = (typeof ENTRY_EVENTS)[number];

const CHANGE_EVENTS = ["change.review", "change.approved", "change.published", "change.mentioned"] as const;
/** An event about a change set. */
export type ChangeEvent = (typeof CHANGE_EVENTS)[number];

const HOOK_EVENTS = [...ENTRY_EVENTS, ...CHANGE_EVENTS] as const;
export type HookEvent = EntryEvent | ChangeEvent;

/** Returns whether an event is about a change set. */
export function isChangeEvent(event: string): event is ChangeEvent {
  return CHANGE_EVENTS.some((one) => one === event);
}

/** Whether the hooks process sends to an http address on the local machine is a setting of the platform. */
function isWebhookUrl(text: string): boolean {
  if (!URL.canParse(text) || text.includes("#")) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

export const hookSchema = z
  .strictObject({
    id: z
      .string()
      .regex(MODULE_ID, "must be 1 to 63 lower-case letters, digits or hyphens and begin with a letter")
      .meta({ description: "Name of the hook, unique in the orb.", example: "check-stock" }),
    on: z
      .array(z.enum(HOOK_EVENTS))
      .min(1)
      .max(HOOK_EVENTS.length)
      .meta({
        description: "The events that the hook is for: all of entries, or all of change sets.",
        example: ["entry.created"],
      }),
    module: z.string().optional().meta({ description: "Only entries of this module. Default: all modules." }),
    schema: z
      .string()
      .optional()
      .meta({ description: "Only entries of this schema. Needs `module`. Default: all schemas." }),
    handler: z.string().regex(HANDLER_NAME, "must have the form <service>.<handler>").optional().meta({
      description: "A handler in `uses`: <service>.<handler>. A hook has a handler or a url.",
      example: "stock.check",
    }),
    url: z
      .string()
      .max(2_000)
      .refine(isWebhookUrl, {
        error: "must be an https address (or http on localhost) without a user name and a fragment",
        params: { code: "format" },
      })
      .optional()
      .meta({
        description:
          "Address that gets a signed webhook after the write. An http address on localhost is for development: see the setting HOOKS_LOOPBACK.",
        example: "https://example.org/hook",
      }),
    mode: z.enum(["before", "after"]).optional().meta({
      description:
        "Required with a handler. before: the handler can refuse the write or change its values. after: it hears of the write at least once.",
    }),
    required: z.boolean().optional().meta({
      description:
        "Only before: false lets a write pass if the handler does not answer, or fails. Default: true.",
    }),
  })
  .meta({ id: "OrbHook", description: "A handler or a webhook that takes part in writes of entries." });

export type HookDefinition = z.output<typeof hookSchema>;

/** Returns whether a hook is for change sets instead of entries. A document has no hook for both. */
export function isForSets({ on }: Pick<HookDefinition, "on">): boolean {
  return on.some(isChangeEvent);
}

/** Returns whether a hook is for comments on change sets that mention accounts. It is for nothing else then. */
export function isForMentions({ on }: Pick<HookDefinition, "on">): boolean {
  return on.includes("change.mentioned");
}

/** Returns whether a hook runs after writes. Webhooks always do. */
export function runsAfter({ mode, url }: Pick<HookDefinition, "mode" | "url">): boolean {
  return mode === "after" || url !== undefined;
}
