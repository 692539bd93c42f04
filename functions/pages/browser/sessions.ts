import type { RealmApi, SessionEntry } from "./api.ts";
import { byId, minute, part, show, twice } from "./dom.ts";
import { attempt, say } from "./feedback.ts";
import { unlessGone } from "./words.ts";

/** Maximum number of sessions listed on the page. Older sessions are only counted. */
const SHOWN = 20;

function nameOf({ browser, system }: SessionEntry): string {
  if (browser === null) return system === null ? "Unknown device" : system;
  return system === null ? browser : `${browser} on ${system}`;
}

/** Shortens a network in CIDR notation to the part that all its addresses share, for example `203.0.113.…`. */
function placeOf({ network }: SessionEntry): string {
  return network === null ? "" : `, from the network ${network.replace(/(?<=[.:])[0:]\/\d+$/, "…")}`;
}

/** Loads the sessions of the account and shows them in a list. */
export async function showSessions(api: RealmApi): Promise<void> {
  const list = byId("sessions");
  if (list === null) return;
  const sessions = await api.listSessions();
  show("sessions-part", sessions !== null);
  if (sessions === null) return;
  const act = (work: () => Promise<unknown>, done: string) =>
    void attempt("sessions", async () => {
      await work();
      await showSessions(api);
      byId("sessions-title")?.focus();
      say("status", done);
    });
  const itemOf = (session: SessionEntry) => {
    const name = nameOf(session);
    const began = `Signed in ${minute(session.createdAt)}${placeOf(session)}`;
    const title = part("p", { className: "name" }, name);
    const text = part("div", {}, title, part("p", { className: "hint" }, began));
    if (session.current) {
      title.append(" ", part("span", { className: "tag" }, "this one"));
      return part("li", {}, text);
    }
    const { button } = twice(
      "Sign out",
      "Sign out now?",
      () => `${name}, ${began}`,
      () => act(() => api.endSession(session.id).catch(unlessGone), `${name} is signed out.`),
    );
    return part("li", {}, text, button);
  };
  list.replaceChildren(...sessions.slice(0, SHOWN).map(itemOf));
  const more = byId("sessions-more");
  const older = sessions.length - SHOWN;
  if (more !== null) more.textContent = older > 0 ? `And ${older} older ones.` : "";
  const all = byId("end-others");
  if (all === null) return;
  all.hidden = sessions.length < 2;
  all.onclick = () => act(() => api.endOtherSessions(), "You are signed out everywhere else.");
}
