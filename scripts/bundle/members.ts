import { parseSync, Visitor } from "rolldown/utils";

interface Node {
  type: string;
  start: number;
  end: number;
}

/** Returns the name of a property, a method or a member expression. Undefined if the name is computed. */
function nameOf(key: Node & { name?: unknown }, computed: boolean): string | undefined {
  return !computed && key.type === "Identifier" ? String(key.name) : undefined;
}

/**
 * Removes members of objects and classes, and assignments to members, from the source of a module. Bundlers keep them,
 * because they cannot know which members a program uses.
 * @param isUnused returns whether to remove a member with this name
 * @throws Error if nothing was removed: a newer version of the module may have other members
 */
export function withoutMembers(
  source: string,
  isUnused: (name: string, isMethod: boolean) => boolean,
): string {
  const cuts: Node[] = [];
  const consider = (node: Node, name: string | undefined, isMethod = false) => {
    if (name !== undefined && isUnused(name, isMethod)) cuts.push(node);
  };
  const { program, errors } = parseSync("module.js", source);
  if (errors[0] !== undefined) throw new Error(errors[0].message);
  new Visitor({
    Property: (node) => consider(node, nameOf(node.key, node.computed), node.method),
    MethodDefinition: (node) => consider(node, nameOf(node.key, node.computed), node.kind === "method"),
    ExpressionStatement(node) {
      const { expression: to } = node;
      if (to.type !== "AssignmentExpression" || to.left.type !== "MemberExpression") return;
      consider(node, nameOf(to.left.property, to.left.computed));
    },
  }).visit(program);
  if (cuts.length === 0) throw new Error("A package has changed. Adapt the list of unused members.");
  let text = "";
  let at = 0;
  for (const { type, start, end } of cuts.sort((a, b) => a.start - b.start)) {
    // This member is inside a member that is already removed.
    if (start < at) continue;
    text += source.slice(at, start);
    at = end;
    if (type === "Property") at += /^\s*,/.exec(source.slice(end))?.[0].length ?? 0;
  }
  return text + source.slice(at);
}

/**
 * Replaces all matches in the source of a module.
 * @throws Error if nothing matched: a newer version of the module may have other text
 */
export function replaced(source: string, pattern: RegExp | string, by: string): string {
  const text = source.replaceAll(pattern, by);
  if (text === source) throw new Error(`A package has changed. Adapt the replacement of ${pattern}.`);
  return text;
}
