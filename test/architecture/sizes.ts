import { parseSync } from 'rolldown/utils'

const LIMITS = { lines: 50, parameters: 5, members: 12 } as const

/**
 * A function or class and one of its measures. `Class.method` is named by all that it is declared
 * in.
 */
interface Size {
  readonly file: string
  readonly name: string
  readonly unit: keyof typeof LIMITS
  readonly value: number
}

interface Measured extends Size {
  readonly line: number
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

const FUNCTION = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/

/**
 * Returns the functions and classes of a file that exceed a limit. Lines count from the first to the last, with
 * comments and empty lines. Types of functions have parameters, too. A class has as many members as
 * others can name.
 */
export function oversized(file: string, text: string): readonly Measured[] {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
  const found: Measured[] = []
  const add = (node: Node, name: string, unit: Size['unit'], value: number): void => {
    if (value <= LIMITS[unit]) return
    found.push({ file, name, unit, value, line: lines(text.slice(0, node.start)) })
  }
  const visit = (node: unknown, outer: string, enclosing: string): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, outer, enclosing)
    if (!isNode(node)) return
    const isFunction = FUNCTION.test(node.type)
    // A function around a whole script is its scope.
    const isScope = outer === '' && text.startsWith(')()', node.end)
    let name = join(outer, ownName(node, text))
    if (isFunction && !isScope && name === enclosing) name = join(name, 'callback')
    if (isFunction && !isScope) add(node, name, 'lines', lines(text.slice(node.start, node.end)))
    add(node, name, 'parameters', parameters(node))
    if (node.type === 'ClassBody') add(node, outer, 'members', publicMembers(node))
    for (const child of Object.values(node)) visit(child, name, isFunction ? name : enclosing)
  }
  visit(program, '', '')
  return found
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

function lines(text: string): number {
  return text.split('\n').length
}

function join(outer: string, own: string): string {
  return [outer, own].filter(Boolean).join('.')
}

function ownName({ id, key }: Node, text: string): string {
  const named = isNode(id) ? id : key
  if (!isNode(named)) return ''
  const end = isNode(named['typeAnnotation']) ? named['typeAnnotation'].start : named.end
  return text.slice(named.start, end).replaceAll(/[\s'"]/g, '')
}

function parameters({ type, params }: Node): number {
  // Type parameters are no parameters of a function.
  if (!Array.isArray(params) || type.startsWith('TSTypeParameter')) return 0
  return params.filter((each: Node) => each['name'] !== 'this').length
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

/** Reads lines such as: `src/mcp/classify.ts classifyBody 57 lines`. */
export function parseList(text: string): readonly Size[] {
  return [...text.matchAll(/^(\S+) (\S+) (\d+) (lines|parameters|members)$/gm)].map(
    ([, file, name, value, unit]) => ({ file, name, value: Number(value), unit }) as Size,
  )
}

export function formatList(sizes: readonly Size[]): string {
  const rows = sizes.map(({ file, name, value, unit }) => `${file} ${name} ${value} ${unit}\n`)
  return rows.toSorted().join('')
}

/**
 * Compares the functions above a limit with the list of exceptions: returns what exceeds the list,
 * and the list without what it allows beyond need. An entry follows a function to another file.
 */
export function compare(
  measured: readonly Measured[],
  list: readonly Size[],
): { readonly problems: readonly string[]; readonly needed: readonly Size[] } {
  const left = list.toSorted(largestFirst)
  const problems: string[] = []
  const needed: Size[] = []
  /** Judges each function that has an entry by it, and returns the others. */
  const judge = (sizes: readonly Measured[], keyOf: (size: Size) => string): readonly Measured[] =>
    sizes.filter((size) => {
      const at = left.findIndex((entry) => keyOf(entry) === keyOf(size))
      if (at === -1) return true
      const [{ value: limit }] = left.splice(at, 1) as [Size]
      if (size.value > limit) problems.push(message(size, limit))
      needed.push({ ...size, value: Math.min(size.value, limit) })
      return false
    })
  const moved = judge(
    measured.toSorted(largestFirst),
    ({ file, name, unit }) => `${file} ${name} ${unit}`,
  )
  const unknown = judge(moved, ({ name, unit }) => `${name} ${unit}`)
  problems.push(...unknown.map((size) => message(size, LIMITS[size.unit])))
  return { problems, needed }
}

function largestFirst(a: Size, b: Size): number {
  return b.value - a.value
}

const ADVICE: Readonly<Record<Size['unit'], string>> = {
  lines: 'move a step that has a name of its own into another function',
  members: 'move a group of them into a class of its own',
  parameters: 'join those that belong together, or move the function to the class that has them',
}

function message({ file, line, name, value, unit }: Measured, limit: number): string {
  const listed = limit === LIMITS[unit] ? '' : ' (large-functions.txt)'
  return `${file}:${line}: ${name} has ${value} ${unit}, limit ${limit}${listed}: ${ADVICE[unit]}`
}
