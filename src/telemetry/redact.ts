import { isRecord } from '../base/values.ts'
import { parsePointer } from '../base/json/json-pointer.ts'

export const REDACTED = '[redacted]'
// Deeper values are not printed in full by pino either.
const MAX_LOG_DEPTH = 8
// Bounds copies of values that refer to themselves.
const MAX_VALUES = 2_000
/** Parts of the names of secrets, without dashes and underscores. */
const SECRET_WORDS = [
  'authorization',
  'cookie',
  'apikey',
  'token',
  'secret',
  'password',
  'passwd',
  'pwd',
  'passphrase',
  'credential',
  'privatekey',
  'accesskey',
] as const
const MAX_KEY = 64
// Remembers names, because log lines repeat the same few fields.
const MAX_CHECKED = 1_000
const checked = new Map<string, boolean>()

/**
 * Returns true for names of headers and fields whose value is a secret; `progressToken` is an
 * identifier.
 */
export function isSecretName(name: string): boolean {
  if (name.length > MAX_KEY) return false
  const known = checked.get(name)
  if (known !== undefined) return known
  const secret = looksSecret(name)
  if (checked.size < MAX_CHECKED) checked.set(name, secret)
  return secret
}

function looksSecret(name: string): boolean {
  const plain = name.toLowerCase().replaceAll('-', '').replaceAll('_', '')
  if (plain === 'progresstoken') return false
  return SECRET_WORDS.some((word) => plain.includes(word))
}

/** Copies the fields of a log line without the values of secrets, at any depth. */
export function redact(fields: Record<string, unknown>): Record<string, unknown> {
  return copyObject(fields, 0, { left: MAX_VALUES })
}

interface Budget {
  left: number
}

function copyValue(value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_LOG_DEPTH || budget.left-- <= 0) return '[cut]'
  if (value instanceof Error) return copyError(value, depth + 1, budget)
  if (value instanceof Date) return value
  if (value instanceof URL) return '[url]'
  if (value instanceof Map) return copyObject(Object.fromEntries(value), depth + 1, budget)
  if (value instanceof Set) return copyArray([...value], depth + 1, budget)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return copyArray(value, depth + 1, budget)
  return copyObject(value, depth + 1, budget)
}

function copyObject(source: object, depth: number, budget: Budget): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [key, original] of Object.entries(source)) {
    const value = isSecretName(key) ? REDACTED : copyValue(original, depth, budget)
    // Assignment would change the prototype of the copy.
    if (key === '__proto__') Object.defineProperty(copy, key, { value, enumerable: true })
    else copy[key] = value
  }
  return copy
}

/**
 * Copies an array; hides the value after a secret's name, because headers are often name, value,
 * name, value.
 */
function copyArray(source: readonly unknown[], depth: number, budget: Budget): unknown[] {
  return source.map((value, i) => {
    const before = source[i - 1]
    return typeof before === 'string' && isSecretName(before)
      ? REDACTED
      : copyValue(value, depth, budget)
  })
}

/**
 * Copies the standard fields of an error; other properties (a request, its headers) are left out.
 */
function copyError(error: Error, depth: number, budget: Budget): Record<string, unknown> {
  const copy: Record<string, unknown> = { type: error.name, message: error.message }
  if ('code' in error) copy['code'] = copyValue(error.code, depth, budget)
  copy['stack'] = error.stack
  if (error.cause !== undefined) copy['cause'] = copyValue(error.cause, depth, budget)
  return copy
}

// Repetitions are bounded: the time is linear in the length of the text.

const SCHEME = /\b(bearer|basic|digest|negotiate) +[^\s,;"']+/gi
/** A header that is a secret up to the end of its line, and a named value. */
const WORDS = [...SECRET_WORDS, 'signature']
const NAMED = new RegExp(
  `((?:${WORDS.map(spelled).join('|')})[\\w-]{0,30}["']? {0,4}[:=] {0,4})` +
    `("[^"]*"?|'[^']*'?|[^\\s,;&"'}]+)`,
  'gi',
)
const WHOLE_LINE = /((?:authorization|cookie)["']? {0,4}: {0,4})[^\r\n"'}]+/gi
const USER = /\/\/[^\s/@]{1,200}@/g
const PEM = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*/g
/** Keys that services begin in a known way. */
const KNOWN =
  /\b(?:(?:sk|pk|rk|gh[a-z]|github_pat|glpat|xox[a-z]|npm|hf)[-_]|AKIA|ASIA|AIza|eyJ)[-_.\w]{12,}/g
/** A run as long as tokens are; UUIDs have dashes, and stay. */
const OPAQUE = /[A-Za-z0-9+_=]{20,}/g

/**
 * Hides the secrets in a foreign text: named values, credentials of URLs, and whatever looks like a
 * token.
 */
export function redactText(text: string): string {
  return text
    .replace(PEM, REDACTED)
    .replace(WHOLE_LINE, `$1${REDACTED}`)
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(NAMED, `$1${REDACTED}`)
    .replace(USER, `//${REDACTED}@`)
    .replace(KNOWN, REDACTED)
    .replace(OPAQUE, (run) => (isToken(run) ? REDACTED : run))
}

/** Returns true for digits alone, or letters and digits mixed as in no name. */
function isToken(run: string): boolean {
  const digits = run.replace(/\D/g, '').length
  if (digits === 0) return false
  return digits > 2 || (/[a-z]/.test(run) && /[A-Z]/.test(run))
}

/** Allows dashes and underscores between the letters of a word: `api_key`, `api-key`. */
function spelled(word: string): string {
  return word.replace(/^(api|private|access)(key)$/, '$1[-_]?$2')
}

/** Selects the values of messages that are replaced by `[redacted]`. */
export interface Redaction {
  /** True to keep values that look like secrets. */
  readonly keepSecrets: boolean
  /** The keys of further values, such as `params`, `arguments`, `card`; `*` is any key or index. */
  readonly paths: readonly (readonly string[])[]
}

/** Deeper values are left out, and JSON within more texts within texts is not read. */
const MAX_DEPTH = 64
const MAX_NESTED = 3
/** Names in definitions of tools, prompts and resources, by which clients find them. */
const NAMES: ReadonlySet<string> = new Set(
  'name type required enum pattern format mimeType $ref $schema $id protocolVersion'.split(' '),
)
const SCHEMAS: ReadonlySet<string> = new Set(['inputSchema', 'outputSchema', 'requestedSchema'])
const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates', 'capabilities'] as const
const NUMBER = /(?:token|secret|password|cookie|authorization|apikey)$/
const TEXTUAL = /^text\/|json|xml|yaml|script/i
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Returns the members of a JSON-RPC message without secrets. */
export function redactMessage(
  message: Readonly<Record<string, unknown>>,
  { keepSecrets, paths }: Redaction,
): Record<string, unknown> {
  const { params, result, error, ...rest } = message
  const method = rest['method']
  const copy: Record<string, unknown> = { ...rest }
  for (const [part, value] of Object.entries({ params, result, error })) {
    if (value === undefined) continue
    copy[part] = keepSecrets ? value : new Redactor(isDefinition(value)).copy(value)
    // Names are not arguments: a call is found by the name of its tool.
    const name = isRecord(value) && part === 'params' && method !== undefined && value['name']
    if (typeof name === 'string') (copy[part] as Record<string, unknown>)['name'] = name
  }
  for (const path of paths) {
    replace(copy, path, 0)
    if (path[0] === 'result' && path[1] === 'structuredContent')
      replaceInTexts(copy['result'], path)
  }
  return copy
}

/** Returns true for lists of definitions, and for the description of a peer. */
function isDefinition(value: unknown): boolean {
  if (!isRecord(value) || 'content' in value) return false
  return LISTS.some((key) => typeof value[key] === 'object')
}

/** Copies JSON values without secrets. */
class Redactor {
  readonly #nested: number
  /** True within definitions, in which some strings are names. */
  #defines: boolean
  #depth = 0

  constructor(defines: boolean, nested = 0) {
    this.#defines = defines
    this.#nested = nested
  }

  copy(value: unknown, isSecret = false): unknown {
    if (typeof value === 'string') return isSecret && value !== '' ? REDACTED : this.#text(value)
    if (typeof value !== 'object' || value === null) return value
    if (++this.#depth > MAX_DEPTH) return this.#left('[cut]')
    if (Array.isArray(value)) return this.#left(value.map((each) => this.copy(each, isSecret)))
    const copy: Record<string, unknown> = {}
    const { mimeType } = value as { readonly mimeType?: unknown }
    for (const [key, each] of Object.entries(value)) {
      const own =
        typeof mimeType === 'string' && typeof each === 'string' && /^(data|blob)$/.test(key)
          ? this.#payload(each, mimeType)
          : this.#member(key, each as unknown, isSecret)
      Object.defineProperty(copy, key, { ...PLAIN, value: own })
    }
    return this.#left(copy)
  }

  #left<T>(value: T): T {
    this.#depth--
    return value
  }

  #member(key: string, value: unknown, isInSecret: boolean): unknown {
    if (this.#defines && NAMES.has(key)) return value
    if (SCHEMAS.has(key) && !this.#defines) {
      this.#defines = true
      const copy = this.copy(value)
      this.#defines = false
      return copy
    }
    const isSecret = isInSecret || isSecretName(key)
    if (typeof value === 'number' && isSecret) {
      // Counts of tokens stay.
      return NUMBER.test(key.toLowerCase().replaceAll(/[-_]/g, '')) ? REDACTED : value
    }
    // The properties of a schema have names of secrets, not secrets.
    const isNested = typeof value === 'object' && this.#defines
    return this.copy(value, isSecret && !isNested)
  }

  /** Copies a text; one of JSON stays valid. */
  #text(text: string): string {
    if (this.#nested < MAX_NESTED && /^\s*[[{]/.test(text)) {
      try {
        const value: unknown = JSON.parse(text)
        const copy = new Redactor(isDefinition(value), this.#nested + 1).copy(value)
        const [before, after] = [JSON.stringify(value), JSON.stringify(copy)]
        // Unlike the value, the text may repeat a key.
        if (before === after && redactText(text) === text) return text
        return text.includes('\n') ? JSON.stringify(copy, null, 2) : after
      } catch {
        // Other texts may begin with a bracket.
      }
    }
    return redactText(text)
  }

  /** Copies base64, which stays valid. */
  #payload(text: string, mimeType: string): string {
    if (!BASE64.test(text)) return this.#text(text)
    if (!TEXTUAL.test(mimeType)) return text
    const plain = Buffer.from(text, 'base64').toString()
    const copy = this.#text(plain)
    return copy === plain ? text : Buffer.from(copy).toString('base64')
  }
}

const PLAIN = { enumerable: true, configurable: true, writable: true }

function replace(at: unknown, path: readonly string[], depth: number): void {
  if (typeof at !== 'object' || at === null) return
  const key = path[depth]!
  const record = at as Record<string, unknown>
  for (const own of key === '*' ? Object.keys(record) : Object.hasOwn(at, key) ? [key] : []) {
    if (depth === path.length - 1) record[own] = REDACTED
    else replace(record[own], path, depth + 1)
  }
}

/** Replaces values of `structuredContent` in the texts that repeat them. */
function replaceInTexts(result: unknown, path: readonly string[]): void {
  const content = isRecord(result) ? result['content'] : undefined
  if (!Array.isArray(content)) return
  const depths = [2]
  // SDKs wrap other values than objects as `result`, and make each item of a list a text of its own.
  if (path[2] === 'result') depths.push(3)
  if (path[2] === 'result' && /^(?:\*|\d+)$/.test(path[3] ?? '')) depths.push(4)
  for (const block of content as unknown[]) {
    for (const holder of isRecord(block) ? [block, block['resource']] : []) {
      if (!isRecord(holder) || typeof holder['text'] !== 'string') continue
      holder['text'] = replacedIn(holder['text'], path, depths)
    }
  }
}

function replacedIn(text: string, path: readonly string[], depths: readonly number[]): string {
  if (depths.includes(path.length)) return REDACTED
  try {
    const value: unknown = JSON.parse(text)
    const before = JSON.stringify(value)
    for (const depth of depths) replace(value, path, depth)
    const after = JSON.stringify(value)
    if (before === after) return text
    return text.includes('\n') ? JSON.stringify(value, null, 2) : after
  } catch {
    return text
  }
}

/** Returns the paths of JSON Pointers. */
export function pathsOf(pointers: readonly string[]): Redaction['paths'] {
  return pointers.map((pointer) => parsePointer(pointer) ?? []).filter(({ length }) => length > 0)
}
