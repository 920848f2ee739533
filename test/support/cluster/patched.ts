interface Operation {
  readonly op: 'add' | 'remove' | 'replace'
  readonly path: string
  readonly value?: unknown
}

/** A thing after a JSON Patch, as the standard has it: parents must be there, indexes must fit. */
export function patched(thing: unknown, base64: string): unknown {
  let result: unknown = structuredClone(thing)
  for (const operation of JSON.parse(Buffer.from(base64, 'base64').toString()) as Operation[]) {
    result = applied(result, operation)
  }
  return result
}

function applied(root: unknown, { op, path, value }: Operation): unknown {
  if (path === '') return value
  const steps = path
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = steps.pop()!
  let at = root
  for (const step of steps) {
    at = (at as Record<string, unknown>)[step]
    if (typeof at !== 'object' || at === null) throw new Error(`no parent for ${path}`)
  }
  if (Array.isArray(at)) {
    const index = last === '-' ? at.length : Number(last)
    if (!(index <= at.length - (op === 'add' ? 0 : 1))) throw new Error(`no place for ${path}`)
    at.splice(index, op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]))
    return root
  }
  const parent = at as Record<string, unknown>
  if (op !== 'add' && !(last in parent)) throw new Error(`nothing at ${path}`)
  if (op === 'remove') delete parent[last]
  else parent[last] = value
  return root
}
