import { ADMINS } from "../api/people.ts";
import { useCaller } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { People } from "./people.tsx";

/** The platform admins. */
export default function Admins() {
  const account = useCaller().data?.account;
  if (account === undefined || account === null) return null;
  return (
    <People
      place={ADMINS}
      title={t("people.admins")}
      lead={t("people.adminsLead")}
      page="/console"
      roles={[]}
      editable
      services
      tokensFor="*"
      caller={account}
    />
  );
}
