import type { Static, TUnsafe } from 'typebox'
import { parsePointer } from '../../../base/json/json-pointer.ts'
import { oneOf, section, type NodeOptions } from '../config-schema.ts'
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
    Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: MAX_POINTER }), {
      ...bound,
      description:
        'Pointers, and the keys that their members get: a key, or the pointer with another last part. A member that had the new key goes.',
      examples: [{ '/temperature': 'temp_c' }, { '/items/*/price': '/items/*/cost' }],
    }),
  ),
  remove: Type.Optional(
    pointers({
      description: 'Members and items to take out.',
      examples: ['/humidity', ['/a', '/items/0']],
    }),
  ),
  set: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      ...bound,
      description: 'Pointers to values that are there, and what they become.',
      examples: [{ '/status': 'unknown' }],
    }),
  ),
  add: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      ...bound,
      description:
        'Pointers to members that are not there yet, and their values; `-` as the last part adds to the end of a list.',
      examples: [{ '/deprecated': true }, { '/items/-': {} }],
    }),
  ),
  retype: Type.Optional(
    Type.Record(Type.String(), oneOf(JSON_TYPES, {}), {
      ...bound,
      description:
        'Pointers to values, and the types they get. To `string`: what is written. To `number`: the number in a text, else its length; the length of a list; 1 and 0. To `boolean`: false for what is empty, zero or says so. To `array`: the values of an object; anything else as the only item. To `object`: a list by its indexes; anything else as `value`.',
      examples: [{ '/humidity': 'string' }],
    }),
  ),
  nullify: Type.Optional(
    pointers({ description: 'Values that become null.', examples: ['/items/*/price'] }),
  ),
  wrap: Type.Optional(
    Type.Record(Type.String(), keyName, {
      ...bound,
      description: 'Pointers to values that are put into an object, and their key in it.',
      examples: [{ '/items': 'data' }],
    }),
  ),
  drift: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 20,
      description:
        'The number of random changes, after the named ones, as far as there are members for them: of any member, alike in all items of a list, a new key, no value, another type, null, an object around it, or a new neighbour. The same seed and the same response make the same changes. Without any parameter, one.',
    }),
  ),
  text: Type.Optional(
    section(
      {
        prepend: Type.Optional(addition('Text in front of each text.')),
        append: Type.Optional(addition('Text behind each text.')),
        replace: Type.Optional(
          Type.Record(Type.String(), Type.String({ maxLength: MAX_TEXT }), {
            ...bound,
            description: 'Texts, and what stands in their place, wherever they occur.',
          }),
        ),
      },
      {
        minProperties: 1,
        description:
          'Changes each text of the result, after the changes above: of content, prompts and resources. A text that holds JSON is text, too. Texts that would make the result grow by more than 1 MiB stay as they are.',
        examples: [{ replace: { sunny: 'rainy' } }, { append: ' (cached)' }],
      },
    ),
  ),
  in: oneOf(['result', 'message', 'arguments', 'inputSchema', 'outputSchema', 'tool'], {
    default: 'result',
    description:
      '`result`: pointers begin in the structured content, and in each text that is a JSON object or array. `message`: in the message as a whole, for every method. Pointers begin with `/params` in requests and notifications of either side, before the receiver gets them, and with `/result` or `/error` in responses. `arguments`: in the arguments of the call, before the upstream gets it. `inputSchema`, `outputSchema`, `tool`: in that part of each tool, or in all of it; for rules about `tools/list`.',
  }),
  headers: oneOf(['follow', 'keep'], {
    default: 'follow',
    description:
      'With `in: arguments` or `message`: `follow` changes the `Mcp-Param-*` and `Mcp-Name` headers that repeat changed values. `keep` leaves them, and servers reject the mismatch (-32020).',
  }),
  tools: Type.Optional(
    names({
      description:
        'With `in: inputSchema`, `outputSchema` or `tool`: only tools by these names or globs.',
      examples: ['search_*', ['query_db', 'list_*']],
    }),
  ),
  consistent: Type.Boolean({
    default: true,
    description:
      'With `in: result`: structured content and JSON in texts are changed alike. `false`: only structured content, so that the two say different things.',
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
    const message = '`tools` goes with `in: inputSchema`, `outputSchema` or `tool` only'
    problems.push({ path: ['tools'], message })
  }
  if (!config.consistent && config.in !== 'result') {
    problems.push({ path: ['consistent'], message: '`consistent` goes with `in: result` only' })
  }
  if (config.headers === 'keep' && !/^(?:arguments|message)$/.test(config.in)) {
    problems.push({
      path: ['headers'],
      message: '`headers` goes with `in: arguments` or `message`',
    })
  }
  if (config.text !== undefined && config.in !== 'result') {
    problems.push({ path: ['text'], message: '`text` goes with `in: result` only' })
  }
  if (config.text?.replace?.[''] !== undefined) {
    problems.push({ path: ['text', 'replace'], message: 'an empty text cannot be replaced' })
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
    const message = 'with `in: message`, `id`, `jsonrpc` and `method` stay as they are'
    return [{ path: ['rename', onto[0]], message }]
  }
  if (config.drift !== undefined || written.length === 0) {
    return [{ path: ['in'], message: '`in: message` needs named changes, without `drift`' }]
  }
  const outside = written.find((pointer) => !/^\/(?:result|error|params)(?:\/|$)/.test(pointer))
  if (outside === undefined) return []
  const shown = JSON.stringify(outside.slice(0, MAX_SHOWN))
  const message = `with \`in: message\`, pointers begin with /result, /error or /params, not ${shown}`
  return [{ path: ['in'], message }]
}

function lastPartProblem(operation: string, pointer: string): string | undefined {
  const isNamed = operation === 'rename' || operation === 'add'
  return isNamed && parsePointer(pointer)?.at(-1) === '*'
    ? `\`${operation}\` needs a key as the last part of its pointer`
    : undefined
}

function renameProblem(pointer: string, to: string): string | undefined {
  if (!to.startsWith('/')) return undefined
  const wrong = pointerProblem(to)
  if (wrong !== undefined) return wrong
  const end = (text: string): string => text.slice(0, text.lastIndexOf('/'))
  return end(pointer) === end(to)
    ? undefined
    : '`rename` leaves a member where it is: only the last part can differ'
}

/** Returns the problem of a JSON Pointer; undefined when it is valid. */
function pointerProblem(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'a JSON Pointer begins with `/`, as in `/items/0/price`'
  if (pointer.length > MAX_POINTER) return `a pointer has at most ${MAX_POINTER} characters`
  const keys = parsePointer(pointer)
  if (keys === undefined) return 'in a JSON Pointer, `~` is written `~0` and `/` in a key `~1`'
  return keys.length > MAX_KEYS ? `a pointer has at most ${MAX_KEYS} keys` : undefined
}
