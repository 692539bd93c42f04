/** The API tokens of a service account. */
import { Tokens } from "../accounts/tokens.tsx";
import { listTokens, type PeoplePlace, type Person } from "../api/people.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Shows } from "../ui/states.tsx";

export function TokensDialog({
  place,
  person,
  orb,
  onClose,
}: {
  place: PeoplePlace;
  person: Person;
  /** The application that new tokens are valid for; `*` for all applications. */
  orb: string;
  onClose: () => void;
}) {
  const owner = { base: place.base, account: person.id };
  const tokens = useLoad(`tokens/${person.id}`, (signal) => listTokens(owner, signal));
  return (
    <Dialog title={t("people.tokensOf", { name: person.name })} onClose={onClose} wide>
      <Shows of={tokens}>{() => <Tokens owner={owner} tokens={tokens} orb={orb} />}</Shows>
    </Dialog>
  );
}
