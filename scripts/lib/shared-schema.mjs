// Prepares a schema for compiling: nothing for people, and one definition for all nodes that are
// alike.

const FOR_PEOPLE = new Set(['$schema', 'title', 'description', 'examples', 'default'])
/** Checking a shorter node in place costs less code than a call. */
const MIN_SHARED = 40

/**
 * Returns the schema that accepts the same values, with its repeated nodes and faults as
 * definitions.
 */
export function sharedSchema(schema) {
  const { definitions = {}, ...root } = without(FOR_PEOPLE, schema)
  const repeated = repeatedIn({ ...root, definitions })
  const shared = {}
  const names = new Map()
  const share = (node, key = '') => {
    const text = JSON.stringify(node)
    const isFault = key.startsWith('fault_')
    if (node.$ref !== undefined || !(isFault || repeated.has(text))) return members(node, share)
    const name = names.get(text) ?? (isFault ? key : `shared_${names.size}`)
    if (!names.has(text)) {
      names.set(text, name)
      shared[name] = members(node, share)
    }
    return { $ref: `#/definitions/${name}` }
  }
  const named = entries(definitions, (node) => members(node, share))
  return { ...members(root, share), definitions: { ...named, ...shared } }
}

function without(keywords, node) {
  const kept = Object.entries(node).filter(([key]) => !keywords.has(key))
  return members(Object.fromEntries(kept), (inner) => without(keywords, inner))
}

function repeatedIn(schema) {
  const seen = new Set()
  const repeated = new Set()
  const visit = (node) => {
    const text = JSON.stringify(node)
    if (seen.has(text)) {
      if (text.length > MIN_SHARED) repeated.add(text)
      return node
    }
    seen.add(text)
    return members(node, visit)
  }
  visit(schema)
  return repeated
}

/** Returns a node whose inner nodes are replaced. */
function members(node, replaced) {
  const { properties, patternProperties, definitions, items, anyOf } = node
  // An object of one key is a choice of what its keys name.
  const isChoice = node.maxProperties === 1 && node.minProperties === 1
  const named = (inner, key) => replaced(inner, isChoice ? `fault_${key}` : '')
  return {
    ...node,
    ...(properties && { properties: entries(properties, named) }),
    ...(patternProperties && {
      patternProperties: entries(patternProperties, (inner) => replaced(inner)),
    }),
    ...(definitions && { definitions: entries(definitions, (inner) => replaced(inner)) }),
    ...(items && { items: replaced(items) }),
    ...(anyOf && { anyOf: anyOf.map((branch) => replaced(branch)) }),
  }
}

function entries(record, replaced) {
  return Object.fromEntries(Object.entries(record).map(([key, node]) => [key, replaced(node, key)]))
}
