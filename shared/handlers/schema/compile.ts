/** Compiles the JSON Schema keywords that contain other schemas. */
import type { Schema, SchemaDraft } from "@cfworker/json-schema";
import { isObject } from "../../kernel/json.ts";
import { BadReference, definitionOf } from "./reference.ts";
import { addEvaluated, addRules, type EvaluatedKeys, emptyNode, type Node, validate } from "./rules.ts";
import type { Run } from "./run.ts";
import { namesOf } from "./values.ts";

type Inner = Schema | boolean;

export function compileSchema(root: Schema, draft: SchemaDraft): (value: unknown, run: Run) => boolean {
  const compiler = new Compiler(root, draft);
  const node = compiler.node(root);
  refuseEndless(compiler.finish());
  return (value, run) => validate(node, value, run, compiler.unseen());
}

/** Rejects schemas that apply themselves again to the same value, because validation with them would never end. */
function refuseEndless(nodes: Iterable<Node>): void {
  const done = new Set<Node>();
  const open = new Set<Node>();
  const visit = (node: Node) => {
    if (done.has(node)) return;
    if (open.has(node)) throw new BadReference();
    open.add(node);
    for (const next of node.same) visit(next);
    open.delete(node);
    done.add(node);
  };
  for (const node of nodes) visit(node);
}

class Compiler {
  readonly #root: Schema;
  readonly #draft: SchemaDraft;
  readonly #nodes = new Map<Schema, Node>();
  #leftOver = false;

  constructor(root: Schema, draft: SchemaDraft) {
    this.#root = root;
    this.#draft = draft;
  }

  /** Fills all nodes in a loop, not by recursion: long chains of references could overflow the stack. */
  finish(): Iterable<Node> {
    for (const [schema, node] of this.#nodes) this.#fill(node, schema);
    return this.#nodes.values();
  }

  /** Returns an empty node for a new schema. {@link Compiler.finish} fills it later. */
  node(schema: Inner): Node {
    if (schema === true) return emptyNode();
    if (schema === false) {
      const refuse = (_: unknown, run: Run) =>
        run.fault("unknown_property", "is not a known property. Remove it or correct its name.");
      return { ...emptyNode(), any: [refuse] };
    }
    const known = this.#nodes.get(schema);
    if (known !== undefined) return known;
    const node = emptyNode();
    this.#nodes.set(schema, node);
    return node;
  }

  #fill(node: Node, schema: Schema): void {
    if (schema.$ref !== undefined) {
      this.#reference(node, schema.$ref);
      // Up to draft 7, validators ignore all other keywords of an object with `$ref`.
      if (this.#draft === "4" || this.#draft === "7") return;
    }
    addRules(node, schema);
    this.#choices(node, schema);
    this.#conditions(node, schema);
    this.#properties(node, schema);
    this.#items(node, schema);
    this.#contains(node, schema);
    this.#rest(node, schema);
  }

  #same(node: Node, schemas: readonly Inner[]): Node[] {
    const nodes = schemas.map((schema) => this.node(schema));
    node.same.push(...nodes);
    return nodes;
  }

  #maybe(schema: Inner | undefined): Node | undefined {
    return schema === undefined ? undefined : this.node(schema);
  }

  #reference(node: Node, ref: string): void {
    const [target = emptyNode()] = this.#same(node, [this.#resolve(ref)]);
    node.any.push((value, run, seen) => {
      if (typeof value !== "object" || value === null) return validate(target, value, run, seen);
      const outcome = run.once(target, value, () => {
        const own: EvaluatedKeys = seen === undefined ? undefined : new Set();
        return { ...run.apart(() => validate(target, value, run, own)), seen: own };
      });
      if (outcome.valid) addEvaluated(seen, outcome.seen, run);
      else run.report(outcome.faults);
      return outcome.valid;
    });
  }

  #resolve(ref: string): Inner {
    const definition = definitionOf(ref);
    if (definition === undefined) return this.#root;
    const [keyword = "", name = ""] = definition ?? [];
    const schemas: unknown = this.#root[keyword];
    if (isObject(schemas) && Object.hasOwn(schemas, name)) return schemas[name] as Inner;
    throw new BadReference();
  }

  #choices(node: Node, { not, anyOf, allOf, oneOf }: Schema): void {
    if (not !== undefined) {
      const refused = this.#same(node, [not]);
      node.any.push(
        (value, run) =>
          !run.silently(() => refused.every((one) => validate(one, value, run, this.unseen()))) ||
          run.fault("schema", 'must not match the schema under "not"'),
      );
    }
    if (allOf !== undefined) {
      const parts = this.#same(node, allOf);
      node.any.push((value, run, seen) => {
        let valid = true;
        for (const part of parts) if (!validate(part, value, run, seen)) valid = false;
        return valid;
      });
    }
    if (anyOf !== undefined) this.#choose(node, anyOf, anyOf.length);
    if (oneOf !== undefined) this.#choose(node, oneOf, 1);
  }

  /** Applies `anyOf` or `oneOf`. If no alternative matches, reports the errors of every alternative. */
  #choose(node: Node, schemas: readonly Inner[], most: number): void {
    const choices = this.#same(node, schemas);
    node.any.push((value, run, seen) => {
      const refusals = [];
      let fitting = 0;
      for (const choice of choices) {
        const { valid, faults } = run.apart(() => validate(choice, value, run, seen));
        if (!valid) refusals.push(faults);
        else if (++fitting > most)
          return run.fault("schema", "must match exactly one of the possible schemas (matches several)");
      }
      if (fitting > 0) return true;
      run.fault("schema", "must match one of the possible schemas");
      for (const faults of refusals) run.report(faults);
      return false;
    });
  }

  #conditions(node: Node, { if: when, then, else: otherwise, dependentSchemas }: Schema): void {
    if (when !== undefined) {
      const [condition = emptyNode(), yes = emptyNode(), no = emptyNode()] = this.#same(node, [
        when,
        then ?? true,
        otherwise ?? true,
      ]);
      node.any.push((value, run, seen) => {
        const holds = run.silently(() => validate(condition, value, run, seen));
        return validate(holds ? yes : no, value, run, seen);
      });
    }
    for (const [name, schema] of Object.entries((dependentSchemas ?? {}) as Record<string, Inner>)) {
      const [part = emptyNode()] = this.#same(node, [schema]);
      node.object.push((value, run, seen) => !Object.hasOwn(value, name) || validate(part, value, run, seen));
    }
  }

  /**
   * Creates the set of property names and items that keywords have evaluated. Only the `unevaluated…` keywords need it.
   */
  unseen(): EvaluatedKeys {
    return this.#leftOver ? new Set() : undefined;
  }

  #below(part: Node, value: unknown, name: string | number, run: Run): boolean {
    run.path.push(name);
    const valid = validate(part, value, run, this.unseen());
    run.path.pop();
    return valid;
  }

  #properties(node: Node, { properties = {}, additionalProperties, propertyNames }: Schema): void {
    const known = new Map(Object.entries(properties).map(([name, schema]) => [name, this.node(schema)]));
    const others = this.#maybe(additionalProperties);
    const names = this.#maybe(propertyNames);
    if (names !== undefined) {
      node.object.push((value, run) => {
        let valid = true;
        for (const name of namesOf(value, run)) {
          if (this.#below(names, name, name, run)) continue;
          valid = run.fault("schema", "has a property whose name is not allowed");
        }
        return valid;
      });
    }
    if (known.size === 0 && others === undefined) return;
    node.object.push((value, run, seen) => {
      let valid = true;
      for (const name of namesOf(value, run)) {
        const part = known.get(name) ?? others;
        if (part === undefined) continue;
        seen?.add(name);
        if (!this.#below(part, value[name], name, run)) valid = false;
      }
      return valid;
    });
  }

  #items(node: Node, { prefixItems, items, additionalItems }: Schema): void {
    // Before draft 2020-12, an `items` array describes the first items and `additionalItems` all others.
    const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [prefixItems ?? [], items];
    const firsts = first.map((schema) => this.node(schema));
    const others = this.#maybe(rest);
    if (firsts.length === 0 && others === undefined) return;
    node.array.push((value, run, seen) => {
      let valid = true;
      const end = others === undefined ? Math.min(value.length, firsts.length) : value.length;
      for (let index = 0; index < end; index++) {
        const part = firsts[index] ?? others ?? emptyNode();
        seen?.add(index);
        if (!this.#below(part, value[index], index, run)) valid = false;
      }
      return valid;
    });
  }

  #contains(node: Node, { contains, minContains = 1, maxContains = Number.POSITIVE_INFINITY }: Schema): void {
    const part = this.#maybe(contains);
    if (part === undefined) return;
    node.array.push((value, run, seen) => {
      let found = 0;
      for (const [index, item] of value.entries()) {
        if (!run.silently(() => this.#below(part, item, index, run))) continue;
        found++;
        // Items matched by `contains` count as evaluated only from draft 2020-12 on.
        if (this.#draft === "2020-12") seen?.add(index);
      }
      if (found < minContains) {
        return run.fault(
          "too_few",
          `must have at least ${minContains} items that match the schema in "contains"`,
        );
      }
      return (
        found <= maxContains ||
        run.fault("too_many", `must have at most ${maxContains} items that match the schema in "contains"`)
      );
    });
  }

  /** Adds the `unevaluated…` keywords, which apply after all others. */
  #rest(node: Node, { unevaluatedProperties, unevaluatedItems }: Schema): void {
    const names = this.#maybe(unevaluatedProperties);
    const indices = this.#maybe(unevaluatedItems);
    if (names === undefined && indices === undefined) return;
    this.#leftOver = true;
    const add = (part: Node, value: unknown, name: string | number, run: Run, seen: EvaluatedKeys) => {
      if (seen?.has(name) === true) return true;
      seen?.add(name);
      return this.#below(part, value, name, run);
    };
    if (names !== undefined) {
      node.object.push((value, run, seen) => {
        let valid = true;
        for (const name of namesOf(value, run)) {
          if (!add(names, value[name], name, run, seen)) valid = false;
        }
        return valid;
      });
    }
    if (indices !== undefined) {
      node.array.push((value, run, seen) => {
        let valid = true;
        run.spend(value.length);
        for (const [index, item] of value.entries()) if (!add(indices, item, index, run, seen)) valid = false;
        return valid;
      });
    }
  }
}
