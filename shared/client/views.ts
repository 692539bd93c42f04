/** Saved views of the lists of a schema. */
import type { CallOptions, Request, Transport } from "./transport.ts";

/** What a view shows. Fields have their current names. */
export interface ViewList {
  filters?: readonly { field: string; op: string; value: string }[];
  /** Whether one of several filters is enough. */
  any?: boolean;
  search?: string;
  /** A language that the entries lack. */
  missing?: string;
  status?: string;
  /** `false`: entries to which no other entry refers. Only platform admins see such lists. */
  used?: boolean;
  /** Names, with a leading `-` for descending order. */
  sort?: readonly string[];
  locale?: string;
  market?: string;
  layout?: { kind: "cards" | "board" | "calendar" | "map"; field?: string };
  columns?: readonly string[];
}

export interface ViewInput {
  name: string;
  /** Who sees the view: the account that saved it, all accounts with a role, or all. The default is `me`. */
  audience?: "me" | "role" | "all";
  /** Only for the audience `role`. */
  role?: string;
  /** Whether lists of the schema open with the view. */
  default?: boolean;
  list?: ViewList;
}

export interface View {
  id: string;
  revision: number;
  name: string;
  audience: "me" | "role" | "all";
  role: string | null;
  default: boolean;
  list: ViewList & Pick<Required<ViewList>, "filters">;
  /** Fields that the view was saved with and that `list` leaves out, because they were removed or you may not read them. */
  gone: readonly {
    field: string;
    part: "filters" | "sort" | "layout" | "columns";
    why: "removed" | "forbidden";
  }[];
  changedAt: string;
  /** Id of an account. */
  changedBy: string;
}

export interface ViewPage {
  items: readonly View[];
  /** Id of the view with which the caller's lists open. */
  default: string | null;
  /** Whether the caller may save views that others see. */
  shares: boolean;
}

type Revised = CallOptions & {
  /** Revision that the change is based on. If there is a newer one, the platform responds with 412. */
  revision?: number;
};

/** The saved views of a schema's lists. */
export interface Views {
  /** Lists the views that the caller sees: their own ones first. */
  list(options?: CallOptions): Promise<ViewPage>;
  get(id: string, options?: CallOptions): Promise<View>;
  create(view: ViewInput, options?: CallOptions): Promise<View>;
  /** Replaces a view. */
  update(id: string, view: ViewInput, options?: Revised): Promise<View>;
  delete(id: string, options?: Revised): Promise<void>;
}

/** @param path URL path of the orb, or of the orb in the management API */
export function viewsOf(transport: Transport, path: string, module: string, schema: string): Views {
  const base = `${path}/views/${encodeURIComponent(module)}/${encodeURIComponent(schema)}`;
  const ask = (method: Request["method"], id: string, { signal, revision }: Revised = {}, body?: ViewInput) =>
    transport.send({
      method,
      path: id === "" ? base : `${base}/${encodeURIComponent(id)}`,
      signal,
      headers: revision === undefined ? {} : { "if-match": `"${revision}"` },
      repeat: method === "GET" ? "safe" : "refused",
      ...(body === undefined ? {} : { body }),
    });
  const bodyOf = async <T>(response: Promise<Response>) => (await (await response).json()) as T;
  return {
    list: (options) => bodyOf<ViewPage>(ask("GET", "", options)),
    get: (id, options) => bodyOf<View>(ask("GET", id, options)),
    create: (view, options) => bodyOf<View>(ask("POST", "", options, view)),
    update: (id, view, options) => bodyOf<View>(ask("PUT", id, options, view)),
    delete: async (id, options) => void (await ask("DELETE", id, options)),
  };
}
