/** Mentions of accounts in comments: `@` and a name, which stands for the id of the account. */
import type { ComponentChild } from "preact";
import { useRef } from "preact/hooks";
import { findAccounts } from "../api/people.ts";
import { useLoad } from "../state/load.ts";
import { useAccountNames } from "../state/names.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";

/** Accounts that the form offers. */
const OFFERED = 5;
/** Least characters of a name for a search. */
const LEAST = 2;
/** A name that is being typed at the end of a text. */
const TYPED = /(?:^|\s)@([^@\n]{0,40})$/u;

export interface Mentionable {
  id: string;
  name: string;
}

export interface Mentioning {
  /** The accounts whose names continue what is typed after the last `@`. */
  offered: readonly Mentionable[];
  /** Returns the text with the name of an account in place of what was typed after the last `@`. */
  insert: (account: Mentionable) => string;
  /** Returns the ids of the accounts that a text mentions. */
  idsIn: (text: string) => string[];
}

/**
 * Offers accounts while the user types `@` and a name.
 * @param known ids of the accounts that take part in the discussion
 */
export function useMentions(orb: string, text: string, known: readonly string[]): Mentioning {
  const nameOf = useAccountNames(orb);
  const chosen = useRef(new Map<string, Mentionable>());
  const typed = TYPED.exec(text)?.[1];
  const query = typed === undefined || typed.trim().length < LEAST ? undefined : typed.trim();
  // Callers who may not list the accounts are offered those of the discussion.
  const found = useLoad(query === undefined ? null : `orbs/${orb}/accounts?${query}`, (signal) =>
    findAccounts(orb, query ?? "", signal).catch(() => []),
  );
  const own = [...new Set(known)].map((id): Mentionable => ({ id, name: nameOf(id) }));
  // Instead of a name that the user may not see, or that is not loaded yet, there are words.
  const words = ["…", t("names.unknown"), t("names.hidden")];
  const all = [...own.filter(({ name }) => !words.includes(name)), ...(found.data ?? [])];
  const unique = [...new Map(all.map((one) => [one.id, { id: one.id, name: one.name }])).values()];
  const wanted = typed?.toLocaleLowerCase();
  const continues = ({ name }: Mentionable) =>
    wanted !== undefined && name.toLocaleLowerCase().includes(wanted) && name !== typed?.trim();
  return {
    offered: unique.filter(continues).slice(0, OFFERED),
    insert(account) {
      chosen.current.set(account.id, account);
      return `${text.slice(0, text.length - (typed ?? "").length)}${account.name} `;
    },
    idsIn(sent) {
      const accounts = new Map([...unique.map((one) => [one.id, one] as const), ...chosen.current]);
      return [...accounts.values()].filter(({ name }) => sent.includes(`@${name}`)).map(({ id }) => id);
    },
  };
}

/** Buttons for the accounts that a comment can mention. */
export function Offered({
  offered,
  onChoose,
}: {
  offered: readonly Mentionable[];
  onChoose: (account: Mentionable) => void;
}) {
  if (offered.length === 0) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would group inputs, and these are buttons.
    <div class="change-buttons change-offered" role="group" aria-label={t("changes.mention")}>
      {offered.map((account) => (
        <Button key={account.id} size="small" onClick={() => onChoose(account)}>
          <span>
            @<bdi>{account.name}</bdi>
          </span>
        </Button>
      ))}
    </div>
  );
}

/** Shows the text of a comment, with the names of the accounts that it mentions in bold. */
export function WithMentions({
  orb,
  text,
  mentions,
}: {
  orb: string;
  text: string;
  mentions: readonly string[];
}) {
  const nameOf = useAccountNames(orb);
  let parts: ComponentChild[] = [text];
  for (const id of mentions) {
    const name = `@${nameOf(id)}`;
    parts = parts.flatMap((part): ComponentChild[] =>
      typeof part !== "string"
        ? [part]
        : part
            .split(name)
            .flatMap((piece, at) =>
              at === 0 ? [piece] : [<strong key={`${id}${at}`}>{name}</strong>, piece],
            ),
    );
  }
  return <>{parts}</>;
}
