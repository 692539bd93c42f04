/** Builds the query parameters for reads and lists. */

export interface ListInput {
  filter?: Readonly<Record<string, unknown>> | undefined;
  search?: string | undefined;
  missing?: string | undefined;
  sort?: string | readonly string[] | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
  count?: boolean | undefined;
  explain?: boolean | undefined;
  aggregate?: Readonly<Record<string, string>> | undefined;
  group?: readonly string[] | undefined;
  fields?: readonly string[] | undefined;
  expand?: readonly string[] | undefined;
  locale?: string | undefined;
  market?: string | undefined;
  fallback?: "none" | undefined;
  richText?: "html" | "markdown" | "text" | undefined;
  revision?: "published" | "latest" | undefined;
  at?: Date | string | undefined;
}

function text(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** Returns whether a condition consists of operators, such as `{ gte: 10 }`. */
function isOperators(condition: unknown): condition is Record<string, unknown> {
  return typeof condition === "object" && condition !== null && !(condition instanceof Date);
}

type Conditions = Readonly<Record<string, unknown>>;

const OPERATORS: ReadonlySet<string> = new Set([
  ...["eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "startsWith", "near", "within", "null"],
]);

/** Returns whether this is the group `not`, which contains conditions. A field called `not` has operators instead. */
function isNegation(name: string, condition: unknown): condition is Conditions {
  return (
    name === "not" && isOperators(condition) && !Object.keys(condition).every((key) => OPERATORS.has(key))
  );
}

/** @param path prefix of the parameter names: `filter`, or a group such as `filter[or][0]` */
function addFilters(query: URLSearchParams, path: string, filter: Conditions): void {
  for (const [name, condition] of Object.entries(filter)) {
    if ((name === "or" || name === "and") && Array.isArray(condition)) {
      condition.forEach((member: Conditions, at) => {
        addFilters(query, `${path}[${name}][${at}]`, member);
      });
    } else if (isNegation(name, condition)) addFilters(query, `${path}[not]`, condition);
    else addFilter(query, `${path}[${name}]`, condition);
  }
}

function addFilter(query: URLSearchParams, path: string, condition: unknown): void {
  if (condition === undefined) return;
  if (condition === null) {
    query.append(`${path}[null]`, "true");
    return;
  }
  if (!isOperators(condition)) {
    query.append(path, text(condition));
    return;
  }
  for (const [operator, value] of Object.entries(condition)) {
    if (value === undefined) continue;
    // Send a list as a JSON array, because its values may contain commas.
    const written = Array.isArray(value) ? JSON.stringify(value.map(text)) : text(value);
    query.append(`${path}[${operator}]`, written);
  }
}

/** Returns the query parameters of a read or list. Omits undefined options. */
export function queryOf(input: ListInput): URLSearchParams {
  const {
    filter = {},
    search,
    missing,
    sort,
    limit,
    cursor,
    count,
    explain,
    aggregate = {},
    group,
    fields,
    expand,
    locale,
    market,
    fallback,
    richText,
    revision,
    at,
  } = input;
  const query = new URLSearchParams();
  addFilters(query, "filter", filter);
  for (const [name, form] of Object.entries(aggregate)) query.set(`aggregate[${name}]`, form);
  const given: [string, string | undefined][] = [
    ["search", search],
    ["missing", missing],
    ["sort", typeof sort === "string" ? sort : sort?.join(",")],
    ["limit", limit?.toString()],
    ["cursor", cursor],
    ["count", count === true ? "true" : undefined],
    ["explain", explain === true ? "true" : undefined],
    ["group", group === undefined || group.length === 0 ? undefined : group.join(",")],
    ["fields", fields?.join(",")],
    ["expand", expand === undefined || expand.length === 0 ? undefined : expand.join(",")],
    ["locale", locale],
    ["market", market],
    ["fallback", fallback],
    ["richText", richText],
    ["revision", revision],
    ["at", at === undefined ? undefined : text(at)],
  ];
  for (const [name, value] of given) if (value !== undefined) query.set(name, value);
  return query;
}
