/** Checks that hooks and schedules name only handlers, modules and schemas that exist in the document. */
import type { Faults } from "../../kernel/faults.ts";
import { BUILT_IN_SERVICES, isChangeEvent } from "../document/index.ts";
import { namedModule } from "./check-place.ts";
import type { LooseDocument, LooseHook, LooseSchedule } from "./loose.ts";

export function checkHooks(document: LooseDocument, faults: Faults): void {
  const used = new Set(
    document.uses.flatMap(({ service, handlers }) => handlers.map(({ value }) => `${service}.${value}`)),
  );
  const ids = new Set<string>();
  for (const hook of document.hooks) {
    if (hook.id !== undefined && ids.has(hook.id)) {
      faults.add(`${hook.path}/id`, "duplicate", "is already the id of another hook");
    }
    ids.add(hook.id ?? "");
    const events = new Set<string>();
    for (const { path, value } of hook.on) {
      if (events.has(value)) faults.add(path, "duplicate", "is listed twice");
      events.add(value);
    }
    checkTarget(hook, faults);
    checkSets(hook, faults);
    if (hook.mode !== "before" && hook.required !== undefined) {
      faults.add(
        `${hook.path}/required`,
        "not_applicable",
        "applies to hooks before a write only. Remove it.",
      );
    }
    checkPlace(document, hook, faults);
    checkHandler(hook, used, faults);
  }
  for (const schedule of document.schedules) {
    // A stored delivery names only this id, so a hook and a schedule must not have the same one.
    if (schedule.id !== undefined && ids.has(schedule.id)) {
      faults.add(`${schedule.path}/id`, "duplicate", "is already the id of a hook or of another schedule");
    }
    ids.add(schedule.id ?? "");
    checkHandler(schedule, used, faults);
  }
}

/** Checks a hook for change sets: it runs after the event, and for all sets of the orb. */
function checkSets({ path, on, mode, module }: LooseHook, faults: Faults): void {
  const ofSets = on.filter(({ value }) => isChangeEvent(value));
  const [first] = ofSets;
  if (first === undefined) return;
  if (ofSets.length < on.length)
    faults.add(first.path, "not_applicable", "must not be beside events of entries. Make two hooks.");
  const mention = on.find(({ value }) => value === "change.mentioned");
  if (mention !== undefined && ofSets.length > 1)
    faults.add(mention.path, "not_applicable", "must be the only event of its hook. Make two hooks.");
  if (mode === "before")
    faults.add(`${path}/mode`, "not_applicable", "must be after, because no hook runs before these events");
  if (module !== undefined)
    faults.add(`${path}/module`, "not_applicable", "does not apply to events of change sets. Remove it.");
}

function checkPlace(document: LooseDocument, hook: LooseHook, faults: Faults): void {
  const module = namedModule(document, hook, faults);
  if (hook.mode === "before" && module?.type === "SETTINGS") {
    faults.add(
      `${hook.path}/module`,
      "not_applicable",
      "must not be a SETTINGS module, because no hook runs before a change of settings",
    );
  }
}

/** Checks that a hook has either a handler with a mode, or a webhook URL. Webhooks always run after the write. */
function checkTarget({ path, handler, url, mode }: LooseHook, faults: Faults): void {
  if (handler === undefined && url === undefined) {
    faults.add(`${path}/handler`, "required", "is required, unless the hook has a url");
  } else if (handler !== undefined && url !== undefined) {
    faults.add(`${path}/url`, "not_applicable", "must not be set beside handler. Make two hooks.");
  }
  if (url === undefined && mode === undefined) {
    faults.add(`${path}/mode`, "required", "is required for a handler: before or after");
  } else if (url !== undefined && mode === "before") {
    faults.add(`${path}/mode`, "not_applicable", "must be after, because a webhook runs after the write");
  }
}

function checkHandler(
  { handler, path }: LooseHook | LooseSchedule,
  used: ReadonlySet<string>,
  faults: Faults,
): void {
  if (handler === undefined) return;
  if (BUILT_IN_SERVICES.includes(handler.split(".")[0] ?? "")) {
    faults.add(
      `${path}/handler`,
      "not_applicable",
      "must be a handler of a service of your own, because built-in handlers take other input",
    );
  } else if (!used.has(handler)) {
    faults.add(`${path}/handler`, "unknown_handler", "must be listed in uses");
  }
}
