import type { Static, TUnsafe } from 'typebox'
import { parsePointer } from '../../../base/json/json-pointer.ts'
import { mapOf, oneOf, section, type NodeOptions } from '../config-schema.ts'
import type { ParameterProblem } from '../../fault.ts'
import { names } from '../names.ts'
import { JSON_TYPES } from './retype.ts'
import * as Type from 'typebox'

const MAX_POINTER = 1024
const MAX_KEYS = 50

const MAX_POINTERS = 50
const MAX_KEY = 256
const MAX_TEXT = 64 * 1024
const MAX_SHOWN = 60

type Pointers = string | readonly string[]

function pointers(options: NodeOptions): TUnsafe<Pointers> {
  const one = { type: 'string', minLength: 1, maxLength: MAX_POINTER } as const
  const list = { type: 'array', items: one, minItems: 1, maxItems: MAX_POINTERS } as const
  return Type.Unsafe<Pointers>({ anyOf: [one, list], ...options })
}

function addition(description: string): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', minLength: 1, maxLength: MAX_TEXT, description })
}

const keyName = Type.String({ maxLength: MAX_KEY })
const bound = { maxProperties: MAX_POINTERS } as const

const parameters = {
  rename: Type.Optional(
    mapOf(Type.String({ minLength: 1, maxLength: MAX_POINTER }), {
      ...bound,
      description:
        'Renames members: maps a JSON Pointer to the new key, or to the same pointer with the new key. Removes an existing member with the new key.',
      examples: [{ '/temperature': 'temp_c' }, { '/items/*/price': '/items/*/cost' }],
    }),
  ),
  remove: Type.Optional(
    pointers({
      description: 'Removes the members and items at these JSON Pointers.',
      examples: ['/humidity', ['/a', '/items/0']],
    }),
  ),
  set: Type.Optional(
    mapOf(Type.Unknown(), {
      ...bound,
      description: 'Replaces existing values: maps a JSON Pointer to the new value.',
      examples: [{ '/status': 'unknown' }],
    }),
  ),
  add: Type.Optional(
    mapOf(Type.Unknown(), {
      ...bound,
      description:
        'Adds missing members: maps a JSON Pointer to the value. If the pointer ends with `-`, appends the value to an array.',
      examples: [{ '/deprecated': true }, { '/items/-': {} }],
    }),
  ),
  retype: Type.Optional(
    mapOf(oneOf(JSON_TYPES, {}), {
      ...bound,
      description:
        'Converts values: maps a pointer to the new type. `string`: as written. `number`: the parsed number, or the length; 1 for `true`, 0 for `false` and null. `boolean`: whether the value has content other than 0, `false` or `no`. `array`: the values of an object, or the value as the only item; empty for null. `object`: array items by index, or the value under the key `value`; empty for null.',
      examples: [{ '/humidity': 'string' }],
    }),
  ),
  nullify: Type.Optional(
    pointers({
      description: 'Sets the values at these JSON Pointers to null.',
      examples: ['/items/*/price'],
    }),
  ),
  wrap: Type.Optional(
    mapOf(keyName, {
      ...bound,
      description: 'Wraps values in an object: maps a JSON Pointer to the key in that object.',
      examples: [{ '/items': 'data' }],
    }),
  ),
  drift: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 20,
      description:
        'Makes up to this many random changes after the others, the same for the same seed and calls. All items of an array change alike. Default without other changes: 1.',
    }),
  ),
  text: Type.Optional(
    section(
      {
        prepend: Type.Optional(addition('Adds this text before each text.')),
        append: Type.Optional(addition('Adds this text after each text.')),
        replace: Type.Optional(
          mapOf(Type.String({ maxLength: MAX_TEXT }), {
            ...bound,
            description:
              'Replaces every occurrence of a string: maps the string to its replacement. Entries apply in order.',
          }),
        ),
      },
      {
        minProperties: 1,
        description:
          'Changes all text content of a result, prompt or resource, even JSON, after the other changes. Skips changes that would grow the result by more than 1 MiB.',
        examples: [{ replace: { sunny: 'rainy' } }, { append: ' (cached)' }],
      },
    ),
  ),
  in: oneOf(['result', 'message', 'arguments', 'inputSchema', 'outputSchema', 'tool'], {
    default: 'result',
    description:
      'Selects the JSON to change. `result`: structured content and JSON texts. `arguments`: the arguments of the call, before the upstream receives them. `message`: the whole message; pointers begin with `/params`, `/result` or `/error`. `inputSchema`, `outputSchema`, `tool`: parts of listed tools; requires `method: tools/list`.',
  }),
  headers: oneOf(['follow', 'keep'], {
    default: 'follow',
    description:
      'Sets how `in: arguments` or `message` treats `Mcp-Param-*` and `Mcp-Name` headers. `follow`: updates them to match. `keep`: leaves them unchanged, so servers reject the mismatch (-32020).',
  }),
  tools: Type.Optional(
    names({
      description:
        'With `in: inputSchema`, `outputSchema` or `tool`: changes only tools whose name matches one of these strings or globs.',
      examples: ['search_*', ['query_db', 'list_*']],
    }),
  ),
  consistent: Type.Boolean({
    default: true,
    description:
      'Sets which parts `in: result` changes. `true`: structured content and JSON in texts alike. `false`: only structured content, so the two differ.',
  }),
}

/** The parameters, which the reference describes. */
export const rewriteSchema = section(parameters, {
  examples: [
    { in: 'message', remove: '/result/_meta' },
    { in: 'message', remove: '/params/_meta/about' },
    { in: 'message', remove: '/error/data' },
    { in: 'arguments', rename: { '/city': 'town' } },
    { in: 'arguments', set: { '/city': 'Oslo' }, headers: 'keep' },
    { in: 'inputSchema', remove: '/properties' },
  ],
})

export type RewriteConfig = Static<typeof rewriteSchema>

/** Returns contradictions and invalid pointers. In pointers `*` matches all items and members. */
export function rewriteProblems(config: RewriteConfig): readonly ParameterProblem[] {
  const problems: ParameterProblem[] = []
  for (const operation of ['rename', 'set', 'add', 'retype', 'wrap'] as const) {
    for (const pointer of Object.keys(config[operation] ?? {})) {
      const message = pointerProblem(pointer) ?? lastPartProblem(operation, pointer)
      if (message !== undefined) problems.push({ path: [operation, pointer], message })
    }
  }
  for (const [pointer, to] of Object.entries(config.rename ?? {})) {
    const message = renameProblem(pointer, to)
    if (message !== undefined) problems.push({ path: ['rename', pointer], message })
  }
  for (const operation of ['remove', 'nullify'] as const) {
    for (const pointer of [config[operation] ?? []].flat()) {
      const wrong = pointerProblem(pointer)
      if (wrong === undefined) continue
      // A path leads to keys alone, and a list may have many.
      const message = `${JSON.stringify(pointer.slice(0, MAX_SHOWN))}: ${wrong}`
      problems.push({ path: [operation], message })
    }
  }
  problems.push(...scopeProblems(config))
  return problems
}

function scopeProblems(config: RewriteConfig): readonly ParameterProblem[] {
  const problems: ParameterProblem[] = []
  const inTools = !['result', 'message', 'arguments'].includes(config.in)
  if (config.tools !== undefined && !inTools) {
    const message = '`tools` requires `in: inputSchema`, `outputSchema` or `tool`'
    problems.push({ path: ['tools'], message })
  }
  if (!config.consistent && config.in !== 'result') {
    problems.push({ path: ['consistent'], message: '`consistent` requires `in: result`' })
  }
  if (config.headers === 'keep' && !/^(?:arguments|message)$/.test(config.in)) {
    problems.push({ path: ['headers'], message: '`headers` requires `in: arguments` or `message`' })
  }
  if (config.text !== undefined && config.in !== 'result') {
    problems.push({ path: ['text'], message: '`text` requires `in: result`' })
  }
  if (config.text?.replace?.[''] !== undefined) {
    problems.push({ path: ['text', 'replace'], message: 'the text to replace must not be empty' })
  }
  if (config.in === 'message') problems.push(...messageProblems(config))
  return problems
}

/** Returns all pointers that a rewrite names. */
export function writtenPointers(config: RewriteConfig): readonly string[] {
  return [
    ...(['rename', 'set', 'add', 'retype', 'wrap'] as const).flatMap((key) =>
      Object.keys(config[key] ?? {}),
    ),
    ...[config.remove ?? [], config.nullify ?? []].flat(),
  ]
}

/** The members by which a message is found to belong to another. */
const FIXED: readonly string[] = ['id', 'jsonrpc', 'method']

/** Random changes, and changes of the id, would make a response that belongs to no call. */
function messageProblems(config: RewriteConfig): readonly ParameterProblem[] {
  const written = writtenPointers(config)
  const onto = Object.entries(config.rename ?? {}).find(
    ([pointer, to]) => pointer.lastIndexOf('/') === 0 && FIXED.includes(to.replace(/^\//, '')),
  )
  if (onto !== undefined) {
    const message = 'with `in: message`, `id`, `jsonrpc` and `method` cannot be changed'
    return [{ path: ['rename', onto[0]], message }]
  }
  if (config.drift !== undefined || written.length === 0) {
    return [
      {
        path: ['in'],
        message: '`in: message` requires explicit changes, and cannot be combined with `drift`',
      },
    ]
  }
  const outside = written.find((pointer) => !/^\/(?:result|error|params)(?:\/|$)/.test(pointer))
  if (outside === undefined) return []
  const shown = JSON.stringify(outside.slice(0, MAX_SHOWN))
  const message = `with \`in: message\`, pointers must begin with /result, /error or /params; got ${shown}`
  return [{ path: ['in'], message }]
}

function lastPartProblem(operation: string, pointer: string): string | undefined {
  const isNamed = operation === 'rename' || operation === 'add'
  return isNamed && parsePointer(pointer)?.at(-1) === '*'
    ? `with \`${operation}\`, the last part of a pointer must be a key`
    : undefined
}

function renameProblem(pointer: string, to: string): string | undefined {
  if (!to.startsWith('/')) return undefined
  const wrong = pointerProblem(to)
  if (wrong !== undefined) return wrong
  const end = (text: string): string => text.slice(0, text.lastIndexOf('/'))
  return end(pointer) === end(to)
    ? undefined
    : '`rename` cannot move a member: only the last part of the pointer may differ'
}

/** Returns the problem of a JSON Pointer; undefined when it is valid. */
export function pointerProblem(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'a JSON Pointer must begin with `/`, as in `/items/0/price`'
  if (pointer.length > MAX_POINTER) return `a pointer must have at most ${MAX_POINTER} characters`
  const keys = parsePointer(pointer)
  if (keys === undefined) return 'in a JSON Pointer, write `~0` for `~` and `~1` for `/` in a key'
  return keys.length > MAX_KEYS ? `a pointer must have at most ${MAX_KEYS} keys` : undefined
}
