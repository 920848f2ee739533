import { isRecord } from '../base/values.ts'
import { folded } from '../base/text/folded.ts'
import type { HeadFacts } from './request-facts.ts'
import { countKeys, countMembers } from './json-keys.ts'
import { KNOWN_METHODS } from './known-methods.ts'
import { decodeHeaderValue } from './name-header.ts'
import { isModern } from './protocol-version.ts'

/** Why a server might read another call in a request than is read here. */
export type Doubt =
  /** An object has the same key twice: decoders take the first one, the last one or none. */
  | 'duplicate_key'
  /** A key is one of JSON-RPC's but for case, blanks or the like, which some decoders overlook. */
  | 'key_variant'
  /** A method, or a name that is no string, that a lenient server takes for one that it knows. */
  | 'unclear_name'
  /** Bytes that are no UTF-8, which decoders replace, drop or refuse. */
  | 'not_utf8'
  /** Values nested deeper than Squall reads. */
  | 'too_complex'
  /** From protocol version 2026-07-28 on: `Mcp-Method` or `Mcp-Name` say something else than the body. */
  | 'header_mismatch'
  | HeadDoubt

/** Reasons in the headers for not reading the body. */
export type HeadDoubt =
  /** The Content-Type names another charset than UTF-8. */
  | 'charset'
  /** The Content-Type is not JSON's, and the request looks like MCP all the same. */
  | 'content_type'
  /** A header that says how to read the request is there twice. */
  | 'repeated_header'
  /** The method is not POST, or a header asks for another one. */
  | 'http_method'

/** Header values that a body has to agree with. */
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
// oxlint-disable-next-line no-control-regex -- these are the very characters that are looked for
const CONTROL = /[\0-\x1f\x7f]/
const PLAIN_KEY = /^\w{1,32}$/
const METHODS = new Set(KNOWN_METHODS)
const METHOD_VARIANTS = new Set(KNOWN_METHODS.map((method) => bare(method)))

/** Returns the parameter that says what a call of a method is about; undefined where none does. */
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

/** Looks for what makes a body ambiguous that was read as JSON-RPC. */
export function findDoubt(bytes: Uint8Array, value: unknown, head: StatedFacts): Doubt | undefined {
  const members = countMembers(value)
  if (Number.isNaN(members)) return 'too_complex'
  if (members !== countKeys(bytes)) return 'duplicate_key'
  if (!Array.isArray(value)) return doubtOf(value, head)
  for (const message of value) {
    const doubt = doubtOf(message, head)
    if (doubt !== undefined) return doubt
  }
  return undefined
}

function doubtOf(message: unknown, head: StatedFacts): Doubt | undefined {
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

/** Before protocol version 2026-07-28, nobody reads what the headers say. */
function agrees(
  { mcpMethod, mcpName, protocolVersion }: StatedFacts,
  method: string,
  key: string | undefined,
  name: unknown,
  params: unknown,
): boolean {
  if (mcpMethod === undefined && mcpName === undefined) return true
  if (!isModern(protocolVersion) && !isModern(metaProtocolVersion(params))) return true
  if (mcpMethod !== undefined && mcpMethod !== method) return false
  if (key === undefined || mcpName === undefined || mcpName === name) return true
  return decodeHeaderValue(mcpName) === name
}

function metaProtocolVersion(params: unknown): string | undefined {
  const meta = isRecord(params) ? params['_meta'] : undefined
  const protocolVersion = isRecord(meta)
    ? meta['io.modelcontextprotocol/protocolVersion']
    : undefined
  return typeof protocolVersion === 'string' ? protocolVersion : undefined
}

function hasVariant(
  of: Record<string, unknown>,
  keys: ReadonlySet<string>,
  variants: ReadonlySet<string>,
): boolean {
  for (const key in of) {
    if (!keys.has(key) && (variants.has(spelled(key)) || CONTROL.test(key))) return true
  }
  return false
}

/** A key as a decoder may read it that overlooks case, blanks and what cannot be seen. */
function spelled(key: string): string {
  if (PLAIN_KEY.test(key)) return key.toLowerCase()
  return folded(key).replace(/[^\p{L}\p{N}_]/gu, '')
}

/** The letters of a method alone. */
function bare(method: string): string {
  return folded(method).replace(/[^\p{L}]/gu, '')
}

/** Halves of surrogate pairs are replaced by some servers, and kept by others. */
function isText(name: unknown): boolean {
  return typeof name === 'string' && name.isWellFormed()
}
