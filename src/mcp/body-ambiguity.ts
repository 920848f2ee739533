import { fieldsOf, isRecord, textOf } from '../base/values.ts'
import { caseFolded } from '../base/text/case-fold.ts'
import type { HeadFacts, HeaderAmbiguity } from './request-facts.ts'
import { countKeys, countMembers } from './json-keys.ts'
import { KNOWN_METHODS } from './known-methods.ts'
import { decodeHeaderValue } from './name-header.ts'
import { isModern } from './protocol-version.ts'

/** The reason for which a server might read a different call than Squall. */
export type BodyAmbiguity =
  /** An object has the same key twice: decoders use the first, the last or neither. */
  | 'duplicate_key'
  /**
   * A key differs from one of JSON-RPC only in case, blanks or the like, which some decoders
   * ignore.
   */
  | 'key_variant'
  /** A lenient server may take the method, or a name that is not a string, for a known one. */
  | 'unclear_name'
  /** The body is not UTF-8: decoders replace, drop or reject the bytes. */
  | 'not_utf8'
  /** Values are nested deeper than Squall reads. */
  | 'too_complex'
  /** Since protocol version 2026-07-28: `Mcp-Method` or `Mcp-Name` contradict the body. */
  | 'header_mismatch'
  | HeaderAmbiguity

/** The header values that the body must match. */
export type StatedFacts = Pick<HeadFacts, 'mcpMethod' | 'mcpName' | 'protocolVersion'>

const MESSAGE_KEYS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
const PARAMS_KEYS = new Set(['name', 'uri', 'taskId', 'arguments', '_meta'])
const MESSAGE_VARIANTS = new Set(['__proto__', ...MESSAGE_KEYS])
const PARAMS_VARIANTS = new Set([
  '__proto__',
  'task_id',
  ...Array.from(PARAMS_KEYS, (key) => key.toLowerCase()),
])
/** Some decoders end a key at a NUL. */
// oxlint-disable-next-line no-control-regex -- matches the control characters on purpose
const CONTROL = /[\0-\x1f\x7f]/
const PLAIN_KEY = /^\w{1,32}$/
const METHODS = new Set(KNOWN_METHODS)
const METHOD_VARIANTS = new Set(KNOWN_METHODS.map((method) => bare(method)))

/** Returns the parameter that names the tool, prompt, resource or task of a method, if any. */
export function nameKey(method: string): 'name' | 'uri' | 'taskId' | undefined {
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      return 'name'
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return 'uri'
    default:
      return method.startsWith('tasks/') ? 'taskId' : undefined
  }
}

/** Finds the first ambiguity of the keys in a body that was parsed as JSON. */
export function findKeyAmbiguity(text: string, value: unknown): BodyAmbiguity | undefined {
  const members = countMembers(value)
  if (Number.isNaN(members)) return 'too_complex'
  return members === countKeys(text) ? undefined : 'duplicate_key'
}

/** Finds the first ambiguity of the messages in a body that was parsed as JSON-RPC. */
export function findBodyAmbiguity(value: unknown, head: StatedFacts): BodyAmbiguity | undefined {
  if (!Array.isArray(value)) return ambiguityOf(value, head)
  for (const message of value) {
    const ambiguity = ambiguityOf(message, head)
    if (ambiguity !== undefined) return ambiguity
  }
  return undefined
}

function ambiguityOf(message: unknown, head: StatedFacts): BodyAmbiguity | undefined {
  if (!isRecord(message)) return undefined
  if (hasVariant(message, MESSAGE_KEYS, MESSAGE_VARIANTS)) return 'key_variant'
  const { method, params } = message
  if (typeof method !== 'string') return undefined
  if (method !== 'tools/call' && !METHODS.has(method) && METHOD_VARIANTS.has(bare(method)))
    return 'unclear_name'
  const key = nameKey(method)
  let name: unknown
  if (key !== undefined && params !== undefined && params !== null) {
    if (!isRecord(params)) return 'unclear_name'
    if (hasVariant(params, PARAMS_KEYS, PARAMS_VARIANTS)) return 'key_variant'
    name = params[key]
    if (name !== undefined && !isText(name)) return 'unclear_name'
  }
  return agrees(head, method, key, name, params) ? undefined : 'header_mismatch'
}

/**
 * Compares the headers with the body; servers ignore the headers before protocol version
 * 2026-07-28.
 */
function agrees(
  { mcpMethod, mcpName, protocolVersion }: StatedFacts,
  method: string,
  key: string | undefined,
  name: unknown,
  params: unknown,
): boolean {
  if (mcpMethod === undefined && mcpName === undefined) return true
  const meta = fieldsOf(fieldsOf(params)['_meta'])
  const stated = textOf(meta['io.modelcontextprotocol/protocolVersion'])
  if (!isModern(protocolVersion) && !isModern(stated)) return true
  if (mcpMethod !== undefined && mcpMethod !== method) return false
  if (key === undefined || mcpName === undefined || mcpName === name) return true
  return decodeHeaderValue(mcpName) === name
}

function hasVariant(
  fields: Record<string, unknown>,
  keys: ReadonlySet<string>,
  variants: ReadonlySet<string>,
): boolean {
  for (const key in fields) {
    if (!keys.has(key) && (variants.has(spelled(key)) || CONTROL.test(key))) return true
  }
  return false
}

/** Returns a key as read by a decoder that ignores case, blanks and invisible characters. */
function spelled(key: string): string {
  if (PLAIN_KEY.test(key)) return key.toLowerCase()
  return caseFolded(key).replace(/[^\p{L}\p{N}_]/gu, '')
}

/** Returns only the letters of a method. */
function bare(method: string): string {
  return caseFolded(method).replace(/[^\p{L}]/gu, '')
}

/**
 * Returns true for a string without lone surrogates, which some servers replace and others keep.
 */
function isText(name: unknown): boolean {
  return typeof name === 'string' && name.isWellFormed()
}
