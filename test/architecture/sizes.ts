import { parseSync } from 'rolldown/utils'

/** The public members that a class may have. */
const MOST = 12

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** Returns the classes of a file that have too many members that others can name, by place and name. */
export function wideClasses(file: string, text: string): readonly string[] {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
  const found: string[] = []
  const visit = (node: unknown, name: string): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, name)
    if (!isNode(node)) return
    if (node.type === 'ClassBody') {
      const members = publicMembers(node)
      const line = text.slice(0, node.start).split('\n').length
      if (members > MOST) found.push(`${file}:${line}: ${name} has ${members} members`)
    }
    const own = isNode(node['id']) ? String(node['id']['name']) : name
    for (const child of Object.values(node)) visit(child, own)
  }
  visit(program, '')
  return found
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

/** A getter and its setter are one member; constructors and what is private or protected are none. */
function publicMembers({ body }: Node): number {
  const named = (body as readonly Node[]).filter(
    ({ kind, key, accessibility }) =>
      kind !== 'constructor' &&
      (accessibility ?? 'public') === 'public' &&
      isNode(key) &&
      key.type !== 'PrivateIdentifier',
  )
  const nameOf = ({ key, static: isStatic }: Node): string =>
    `${String(isStatic)} ${JSON.stringify((key as Node)['name'] ?? (key as Node)['value'])}`
  return new Set(named.map(nameOf)).size
}
