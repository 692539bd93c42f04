/** Creates sample code for requests about accounts. */
import type { PeoplePlace } from "../api/people.ts";
import type { Sample } from "../model/code.ts";

/** Milliseconds of a year. */
const YEAR = 31_536_000_000;

/**
 * Returns sample requests. Each request's name is a key in the console's texts.
 * @param application the application that a token is valid for; `*` for all applications
 */
export function peopleSamples({ base, platform }: PeoplePlace, orb: string) {
  const url = location.origin + base;
  const accounts = `${url}/${platform ? "admins" : "users"}`;
  const role = platform ? {} : { role: "user" };
  const expiresAt = new Date(Date.now() + YEAR).toISOString();
  const token = { account: "ACCOUNT_ID", name: "importer", expiresAt, scopes: [{ orb, can: ["read"] }] };
  const samples: {
    name: "listPeople" | "invite" | "changeRole" | "service" | "createToken";
    sample: Sample;
  }[] = [
    { name: "listPeople", sample: { method: "GET", url: accounts } },
    {
      name: "invite",
      sample: { method: "POST", url: `${url}/invitations`, ...(platform ? {} : { body: role }) },
    },
    {
      name: "service",
      sample: { method: "POST", url: accounts, body: { name: "importer", service: true, ...role } },
    },
    { name: "createToken", sample: { method: "POST", url: `${url}/tokens`, body: token } },
  ];
  if (!platform)
    samples.push({
      name: "changeRole",
      sample: { method: "PUT", url: `${accounts}/ACCOUNT_ID`, body: { role: "admin" } },
    });
  return samples;
}
