import { definitionOf } from './schema-node.ts'
import type { SchemaNode } from './schema-node.ts'

/** A whole file's node without its rules, which are checked one by one. */
export function fileNode(root: SchemaNode): SchemaNode {
  const { rules, ...others } = root.properties ?? {}
  if (rules === undefined) return root
  const { items: _, ...list } = rules
  return { ...root, properties: { ...others, rules: list } }
}

/** The node of a single rule. */
export function ruleNode(root: SchemaNode): SchemaNode {
  return root.definitions?.['rule'] ?? {}
}

/** Every node of a file's schema that a value is checked against by itself. */
export function checkedNodes(root: SchemaNode): readonly SchemaNode[] {
  return [fileNode(root), ruleNode(root), ...branchesIn(root)]
}

/** A node as a schema of its own, with the definitions that it needs and no others. */
export function wholeSchema(node: SchemaNode, definitions: SchemaNode['definitions']): SchemaNode {
  const needed = new Map<string, SchemaNode>()
  const visit = (at: unknown): void => {
    for (const { $ref } of objectsIn(at)) {
      if (typeof $ref !== 'string') continue
      const { name, target } = definitionOf($ref, definitions)
      if (needed.has(name)) continue
      needed.set(name, target)
      visit(target)
    }
  }
  const { definitions: _, ...own } = node
  visit(own)
  return needed.size === 0 ? own : { ...own, definitions: Object.fromEntries(needed) }
}

function branchesIn(root: SchemaNode): readonly SchemaNode[] {
  return [...objectsIn(root)].flatMap(({ anyOf }) =>
    Array.isArray(anyOf) ? (anyOf as readonly SchemaNode[]) : [],
  )
}

function* objectsIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Readonly<Record<string, unknown>>
  for (const member of Object.values(value)) yield* objectsIn(member)
}
