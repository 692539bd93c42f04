/** Finds the stable error codes of the sources in their syntax trees. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ts } from "@ts-morph/common";
import { STATUS } from "../../functions/http/problem.ts";
import type { ErrorKind } from "../../shared/kernel/errors.ts";
import { root } from "../support/guide.ts";

/** Folders whose code answers requests. */
const FOLDERS = ["functions", "shared", "scripts/streams", "scripts/host"];
/** Excluded: code that runs in browsers, and the kit, which runs in services. */
const ELSEWHERE = /functions\/(console|pages\/browser)|assets\.generated|handlers\/contract\/kit(-\w+)?\.ts/;

/** Codes by their place in an answer. */
export interface Codes {
  /** The `code` of a problem document, with its statuses. */
  problems: Map<string, Set<number>>;
  /** The `code` of an item of `errors`. */
  faults: Set<string>;
  /** The `code` of a change in a dry run or in `incompatible_change`. */
  changes: Set<string>;
  /** Expressions that compute a code at run time, as source text. */
  computed: Set<string>;
}

/** Returns the string literals that an expression can evaluate to. */
function strings(node: ts.Expression): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isConditionalExpression(node)) return [...strings(node.whenTrue), ...strings(node.whenFalse)];
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return strings(node.expression);
  return [];
}

/** The member of an object literal. */
function member(node: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  for (const property of node.properties) {
    if (!ts.isPropertyAssignment(property) && !ts.isShorthandPropertyAssignment(property)) continue;
    if (property.name.getText() !== name) continue;
    return ts.isPropertyAssignment(property) ? property.initializer : property.name;
  }
  return undefined;
}

/** Returns the code of a call that reports a fault: `faults.add(path, code, words)`, `report(code, words)` and so on. */
function faultArgument(call: ts.CallExpression): ts.Expression | undefined {
  const name = call.expression.getText();
  const count = call.arguments.length;
  if (name === "run.fault" || (/(^|\.)(report|fail|fault)$/.test(name) && count === 2))
    return call.arguments[0];
  if (/(^|\.)(add|fault)$/.test(name) && count >= 3) return call.arguments[1];
  if (/(^|\.)(report|fail)$/.test(name)) return call.arguments[0];
  return undefined;
}

/** Reads all sources. */
export function codesOfSources(): Codes {
  const codes: Codes = { problems: new Map(), faults: new Set(), changes: new Set(), computed: new Set() };
  const problem = (status: number | undefined, code: string) => {
    const known = codes.problems.get(code) ?? new Set<number>();
    if (status !== undefined) known.add(status);
    codes.problems.set(code, known);
  };
  const take = (status: number | undefined, node: ts.Expression | undefined) => {
    if (node === undefined) return;
    const found = strings(node);
    for (const code of found) problem(status, code);
    if (found.length === 0) codes.computed.add(node.getText());
  };
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && node.expression.getText() === "AppError") {
      const [kind, code] = node.arguments ?? [];
      const [word] = kind === undefined ? [] : strings(kind);
      take(word === undefined ? undefined : STATUS[word as ErrorKind], code);
    } else if (ts.isCallExpression(node)) {
      const name = node.expression.getText();
      const [first, second, third] = node.arguments;
      if (name === "notFound" && first !== undefined) {
        const found = strings(first);
        for (const what of found) problem(404, `${what.replaceAll(" ", "_")}_not_found`);
        if (found.length === 0) codes.computed.add(`notFound(${first.getText()})`);
      } else if (name === "problem" && second !== undefined)
        take(Number(second.getText()) || undefined, third);
      else if (name === "malformed" && first !== undefined) take(400, first);
      else if (name === "problemText" && first !== undefined)
        take(Number(first.getText()) || undefined, second);
      else if (name === "tightened" && second !== undefined)
        for (const one of strings(second)) codes.changes.add(one);
      else {
        const fault = faultArgument(node);
        if (fault !== undefined) for (const code of strings(fault)) codes.faults.add(code);
      }
    } else if (ts.isObjectLiteralExpression(node)) {
      const code = member(node, "code");
      if (code !== undefined && member(node, "path") !== undefined && member(node, "message") !== undefined)
        for (const one of strings(code)) codes.faults.add(one);
      if (code !== undefined && member(node, "severity") !== undefined)
        for (const one of strings(code)) codes.changes.add(one);
      const params = member(node, "params");
      if (params !== undefined && ts.isObjectLiteralExpression(params)) {
        const inner = member(params, "code");
        if (inner !== undefined) for (const one of strings(inner)) codes.faults.add(one);
      }
    }
    ts.forEachChild(node, visit);
  };
  for (const folder of FOLDERS) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      const path = join(root, folder, entry);
      if (!path.endsWith(".ts") || path.endsWith(".d.ts") || ELSEWHERE.test(path)) continue;
      visit(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true));
    }
  }
  return codes;
}
