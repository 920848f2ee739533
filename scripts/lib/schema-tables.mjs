import { cell, table } from './markdown.mjs'

/** Definitions that have a section of their own, and what a table calls them. */
const NAMED = {
  '#/definitions/match': 'matcher',
  '#/definitions/text': 'pattern',
  '#/definitions/headerValue': 'string or operators',
  '#/definitions/value': 'value or operators',
  '#/definitions/rule': 'rule',
  '#/definitions/fault': 'fault',
}

/** Returns a function that makes the table of the keys of a schema node, in a list: empty without keys. */
export function schemaTables(root, formats) {
  const resolved = (node) =>
    node.$ref === undefined || NAMED[node.$ref] !== undefined
      ? node
      : { ...root.definitions[node.$ref.replace('#/definitions/', '')], ...node, $ref: undefined }
  const rowsOf = (at, prefix) =>
    Object.entries(at.properties ?? {}).flatMap(([key, each]) => {
      const node = resolved(each)
      const isRequired = at.required?.includes(key) === true
      const name = code(`${prefix}${key}`)
      const row = [name, takes(node, root, formats), usual(node, isRequired), meaning(node)]
      const inner = [node, ...(node.anyOf ?? []), node.items ?? {}].map(resolved)
      const lists = inner.flatMap(({ anyOf, items }) => [...(anyOf ?? []), items ?? {}])
      const below = [...new Set([...inner, ...lists.map(resolved)])]
      return [
        [...row.slice(0, -1).map(cell), lines(row.at(-1))],
        ...below.flatMap((part) => rowsOf(part, `${prefix}${key}.`)),
      ]
    })
  return (node) => {
    const rows = withoutRepeats(rowsOf(resolved(node), ''))
    return rows.length === 0 ? [] : [table(['Key', 'Value', 'Default', 'Meaning'], rows)]
  }
}

/** A key in several alternatives of a value is one row. */
function withoutRepeats(rows) {
  return rows.filter(([key], index) => rows.findIndex((row) => row[0] === key) === index)
}

function code(text) {
  return `\`${text}\``
}

function usual(node, isRequired) {
  if (isRequired) return 'required'
  return node.default === undefined ? '' : code(JSON.stringify(node.default))
}

function meaning({ description = '', examples = [] }) {
  const shown = examples.length === 0 ? '' : ` Example: ${code(JSON.stringify(examples[0]))}.`
  return `${description}${shown}`.trim()
}

/** Returns a cell in which each value that a description explains begins a line. */
function lines(text) {
  return cell(text).replaceAll(/(?<=[.]) (?=(?:`[^` ]+`(?:, | and )?)+: )/g, '<br>')
}

/** Returns the plural of what a table calls a value: `rule` is `rules`. */
function many(text) {
  const [noun, ...rest] = text.split(/(?= )/)
  if (noun.startsWith('`') || noun === 'any') return text
  return `${noun.endsWith('ch') ? `${noun}es` : `${noun}s`}${rest.join('')}`
}

function takes(node, root, formats) {
  if (NAMED[node.$ref] !== undefined) return NAMED[node.$ref]
  if (node.$ref !== undefined) {
    return takes(root.definitions[node.$ref.replace('#/definitions/', '')], root, formats)
  }
  const of = (each) => takes(each, root, formats)
  if (node.anyOf !== undefined) {
    const lists = node.anyOf.filter(({ type }) => type === 'array')
    const single = [...new Set(node.anyOf.filter(({ type }) => type !== 'array').map(of))]
    const shown = single.join(' or ')
    const isSame = ({ items }) => single.includes(of(items)) || of(items) === shown
    const list = lists.map((each) => (isSame(each) ? 'list' : of(each)))
    return [...single, ...list].join(' or ')
  }
  if (node.format !== undefined) return shortWants(formats[node.format]?.wants ?? 'string')
  if (node.enum !== undefined) return node.enum.map((each) => code(String(each))).join(', ')
  switch ([node.type].flat()[0]) {
    case 'array':
      return `list of ${node.items === undefined ? 'values' : many(of(node.items))}`
    case 'integer':
      return `integer${range(node)}`
    case 'number':
      return `number${range(node)}`
    case 'string':
      return 'string'
    case 'boolean':
      // Faults reject `false` where `true` is the example.
      return node.examples?.[0] === true ? '`true`' : '`true`, `false`'
    case 'object': {
      const [ofEach] = Object.values(node.patternProperties ?? {})
      return ofEach === undefined ? 'object' : `map of ${many(of(ofEach))}`
    }
    default:
      return 'any value'
  }
}

function shortWants(wants) {
  return (wants.split(/ such as |, /)[0] ?? wants).replaceAll(
    /(?<=^| or )an? | with an offset/g,
    '',
  )
}

function range({ minimum, maximum, exclusiveMinimum }) {
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  if (exclusiveMinimum !== undefined)
    return ` above ${exclusiveMinimum}${bounded ? `, up to ${maximum}` : ''}`
  if (minimum === undefined) return ''
  return bounded ? ` ${minimum} to ${maximum}` : ` from ${minimum}`
}
