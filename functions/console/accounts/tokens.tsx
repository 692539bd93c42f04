/** API tokens: those of a service account, or the user's own. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { CANS, type Can } from "../../../shared/access/credentials/index.ts";
import { createToken, revokeToken, type Token, type TokenOwner } from "../api/people.ts";
import { useAction } from "../state/action.ts";
import { confirm } from "../state/confirm.ts";
import type { Loaded } from "../state/load.ts";
import { listOfAll, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { CopyField } from "../ui/copy.tsx";
import { Checkbox, SelectField, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, otherFaults, ProblemBox } from "../ui/problem.tsx";
import { Time } from "../ui/time.tsx";

const DAYS = ["30", "90", "365"] as const;
const DAY_MS = 86_400_000;

interface TokensProps {
  owner: TokenOwner;
  tokens: Loaded<readonly Token[] | null>;
  /** The application that new tokens are valid for, `*` for all; undefined if the user chooses. */
  orb: string | undefined;
  /** Whether a token may be valid forever. */
  endless?: boolean;
  /** Whether the form for a new token is hidden until the user asks for it. */
  folded?: boolean;
}

const scopesInWords = ({ scopes }: Token) =>
  listOfAll(
    scopes.map(({ orb, can }) =>
      t("people.scopeOf", {
        orb: orb === "*" ? t("people.everyOrb") : orb,
        can: listOfAll(can.map((one) => t(`people.short-${one}`))),
      }),
    ),
  );

function TokenItem({ token, onRevoke }: { token: Token; onRevoke: () => void }) {
  const { name, expiresAt, lastUsedAt, definition } = token;
  return (
    <li class="row-between">
      <span>
        <strong dir="auto">{name}</strong>{" "}
        <span class="hint">
          {scopesInWords(token)} ·{" "}
          {definition === undefined ? null : `${t("people.pinned", { revision: definition })} · `}
          {expiresAt === "never" ? t("people.never") : t("people.ends")}
          {expiresAt === "never" ? null : <Time at={expiresAt} />} ·{" "}
          {lastUsedAt === null ? (
            t("people.unused")
          ) : (
            <>
              {t("people.lastUsed")} <Time at={lastUsedAt} />
            </>
          )}
        </span>
      </span>
      <Button size="small" icon="trash" aria-label={t("people.revokeNamed", { name })} onClick={onRevoke}>
        {t("people.revoke")}
      </Button>
    </li>
  );
}

function Rights({
  cans,
  error,
  onChange,
}: {
  cans: readonly Can[];
  error: string | undefined;
  onChange: (cans: readonly Can[]) => void;
}) {
  return (
    <fieldset class="field">
      <legend>{t("people.scopes")}</legend>
      {CANS.map((can) => (
        <Checkbox
          key={can}
          label={t(`right.${can}`)}
          hint={t(`right.${can}Text`)}
          checked={cans.includes(can)}
          onChange={(on) => onChange(CANS.filter((one) => (one === can ? on : cans.includes(one))))}
        />
      ))}
      {error === undefined ? null : <p class="error">{error}</p>}
    </fieldset>
  );
}

/** Paths of the faults that the form shows beside its inputs. */
const SHOWN = ["/name", "/scopes", "/definition"];

function NewToken({
  owner,
  orb,
  endless,
  onMade,
}: Omit<TokensProps, "tokens" | "folded"> & { onMade: (text: string) => void }) {
  const [name, setName] = useState("");
  const [days, setDays] = useState<string>(DAYS[1]);
  const [cans, setCans] = useState<readonly Can[]>(["read"]);
  const [chosen, setChosen] = useState("");
  const [definition, setDefinition] = useState("");
  const { busy, error, run } = useAction();
  const create = async () => {
    const expiresAt = days === "never" ? days : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
    const of = orb ?? (chosen.trim() === "" ? "*" : chosen.trim());
    const pinned = definition.trim() === "" ? {} : { definition: Number(definition) };
    const scopes = [{ orb: of, can: cans }];
    const made = await createToken(owner, { name: name.trim(), expiresAt, scopes, ...pinned });
    onMade(made.token);
  };
  const faults = faultsOf(error);
  const beside = faults.length > 0 && otherFaults(faults, SHOWN).length === 0;
  const ends = [
    ...DAYS.map((value) => ({ value, label: t("people.days", { count: Number(value) }) })),
    ...(endless === true ? [{ value: "never", label: t("people.never") }] : []),
  ];
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void run(create);
      }}
    >
      {error === undefined || beside ? null : <ProblemBox error={error} />}
      <TextField
        label={t("people.name")}
        value={name}
        onChange={setName}
        error={faultAt(faults, "/name")}
        required
      />
      {orb === undefined ? (
        <TextField
          label={t("people.tokenOrb")}
          hint={t("people.tokenOrbHint")}
          class="mono"
          value={chosen}
          onChange={setChosen}
          error={faultAt(faults, "/scopes/0/orb")}
        />
      ) : null}
      <TextField
        label={t("people.definition")}
        hint={t("people.definitionHint")}
        inputMode="numeric"
        value={definition}
        onChange={setDefinition}
        error={faultAt(faults, "/definition")}
      />
      <SelectField label={t("people.expires")} value={days} options={ends} onChange={setDays} />
      <Rights cans={cans} error={faultAt(faults, "/scopes/0/can")} onChange={setCans} />
      <Button type="submit" icon="plus" busy={busy}>
        {t("people.createToken")}
      </Button>
    </form>
  );
}

/** Shows a token that was just created. Takes the focus, because the token is not shown again. */
function MadeToken({ text }: { text: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.querySelector("input")?.focus(), [text]);
  return (
    <div class="notice" ref={box}>
      <p role="status">{t("people.tokenOnce")}</p>
      <CopyField
        label={t("people.token")}
        value={text}
        copy={t("people.copyToken")}
        done={t("people.tokenCopied")}
      />
    </div>
  );
}

/** Lists API tokens, revokes them, and creates new ones. */
export function Tokens({ owner, tokens, orb, endless = false, folded = false }: TokensProps) {
  const [text, setText] = useState<string>();
  const [open, setOpen] = useState(!folded);
  const { error, run } = useAction();
  const list = tokens.data ?? [];
  const revoke = async ({ id, name }: Token) => {
    const sure = await confirm({
      title: t("people.revokeToken", { name }),
      text: t("people.revokeTokenText"),
      action: t("people.revoke"),
      danger: true,
    });
    if (!sure) return;
    await run(() => revokeToken(owner, id));
    await tokens.reload();
  };
  return (
    <>
      {error === undefined ? null : <ProblemBox error={error} />}
      {text === undefined ? null : <MadeToken text={text} />}
      {list.length === 0 ? (
        <p class="hint">{t(owner.account === undefined ? "people.noOwnTokens" : "people.noTokens")}</p>
      ) : (
        <ul class="rows">
          {list.map((token) => (
            <TokenItem key={token.id} token={token} onRevoke={() => void revoke(token)} />
          ))}
        </ul>
      )}
      {folded ? (
        <Button icon={open ? "chevronDown" : "plus"} aria-expanded={open} onClick={() => setOpen(!open)}>
          {t("people.newToken")}
        </Button>
      ) : (
        <h3>{t("people.newToken")}</h3>
      )}
      {open ? (
        <NewToken
          key={text}
          owner={owner}
          orb={orb}
          endless={endless}
          onMade={(made) => {
            setText(made);
            setOpen(!folded);
            void tokens.reload();
          }}
        />
      ) : null}
    </>
  );
}
