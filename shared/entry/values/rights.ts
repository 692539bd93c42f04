/** Which fields of an entry the sender of a write may read and set. */
import { isOwn, mayField, type Principal } from "../../access/authorize.ts";
import type { CompiledField } from "../../definition/compile.ts";

export interface Sender {
  caller: Principal;
  /** Account that created the entry. For a new entry, this is the caller. */
  createdBy: string;
}

export interface Rights {
  read: boolean;
  write: boolean;
}

export function rightsIn({ access }: CompiledField, { caller, createdBy }: Sender): Rights {
  const own = isOwn(caller.actor, createdBy);
  return {
    read: mayField(caller, "read", { access, own }),
    write: mayField(caller, "write", { access, own }),
  };
}

export const READ_ONLY =
  "must keep its value, because your role may not set this field. Remove it from the body.";
export const WRITE_ONLY =
  "must be sent as a whole, without locale, market and masks, because your role may not read this field.";
