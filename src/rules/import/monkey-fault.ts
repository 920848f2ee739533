import { pointerTo } from '../../base/json/json-pointer.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { type Fields, isRecord } from '../../base/values.ts'

const TYPES = {
  latency: { required: ['delayMs'], optional: [] },
  error: { required: ['statusCode'], optional: ['message'] },
  timeout: { required: ['hangMs'], optional: [] },
  malformed: { required: [], optional: ['corruptResponse'] },
  'connection-refused': { required: [], optional: [] },
  'connection-drop': { required: [], optional: ['afterBytes', 'afterMs'] },
  'rate-limit': { required: ['retryAfterSeconds'], optional: [] },
  'schema-mismatch': { required: ['missingFields'], optional: [] },
} as const satisfies Readonly<
  Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>
>

type MonkeyType = keyof typeof TYPES

/** A fault of mcp-chaos-monkey. It has the keys that its type needs, in camelCase. */
export interface MonkeyFault {
  readonly type: MonkeyType
  readonly probability: number | undefined
  readonly delayMs: number
  readonly statusCode: number
  readonly message: string | undefined
  readonly hangMs: number
  readonly afterBytes: number | undefined
  readonly afterMs: number | undefined
  readonly retryAfterSeconds: number
  readonly missingFields: readonly string[]
}

/** The keys of a rule that such a fault stands for, as a rules file has them. */
export interface MonkeyRule {
  readonly probability?: number
  readonly faults: readonly (string | object)[]
}

/** Returns the rule that does on the wire what a fault does within a program. */
export function monkeyRule(fault: MonkeyFault): MonkeyRule {
  const { probability } = fault
  return { ...(probability !== undefined && { probability }), faults: faultsOf(fault) }
}

function faultsOf(fault: MonkeyFault): MonkeyRule['faults'] {
  const { afterBytes, afterMs } = fault
  switch (fault.type) {
    case 'latency':
      return [delay(fault.delayMs)]
    case 'error':
      return [json(fault.statusCode, { error: fault.message ?? 'injected error' })]
    case 'timeout':
      return [{ hang: { for: `${fault.hangMs}ms` } }, 'reset']
    case 'malformed':
      return [replaced(200, '{"jsonrpc":"2.0","result":{')]
    case 'connection-refused':
      return ['reset']
    case 'connection-drop':
      if (afterBytes !== undefined) {
        return [{ reset: { at: 'stream', after: { bytes: afterBytes } } }]
      }
      return [...(afterMs === undefined ? [] : [delay(afterMs)]), { reset: { at: 'response' } }]
    case 'rate-limit': {
      const headers = { 'retry-after': String(Math.ceil(fault.retryAfterSeconds)) }
      return [json(429, { error: 'too many requests' }, headers)]
    }
    case 'schema-mismatch':
      return [{ rewrite: { remove: fault.missingFields.map((field) => pointerTo([field])) } }]
    default:
      return fault.type satisfies never
  }
}

function delay(ms: number): object {
  return { delay: { fixed: `${ms}ms` } }
}

function json(status: number, body: object, headers: object = {}): object {
  return replaced(status, JSON.stringify(body), headers)
}

function replaced(status: number, body: string, headers: object = {}): object {
  return { abort: { status, body, headers: { 'content-type': 'application/json', ...headers } } }
}

/**
 * Reads a fault, with its keys in camelCase or snake_case. Returns the error of one that is
 * invalid, or that would inject nothing.
 */
export function readMonkeyFault(
  config: unknown,
): { readonly fault: MonkeyFault } | { readonly error: string } {
  const type = isRecord(config) ? config['type'] : undefined
  if (!isRecord(config) || !isMonkeyType(type)) {
    return { error: `type must be one of ${Object.keys(TYPES).join(', ')}` }
  }
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(config)) {
    const name = camelCase(key)
    if (value === null) continue
    if (Object.hasOwn(fields, name)) return { error: `${name} is given in two spellings` }
    fields[name] = value
  }
  const error = problemOf(type, fields)
  return error === undefined ? { fault: faultOf(type, fields) } : { error }
}

function isMonkeyType(type: unknown): type is MonkeyType {
  return typeof type === 'string' && Object.hasOwn(TYPES, type)
}

/** Returns a key of either spelling in camelCase. */
export function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function problemOf(type: MonkeyType, fields: Fields): string | undefined {
  const required: readonly string[] = TYPES[type].required
  const known = ['type', 'probability', ...required, ...TYPES[type].optional]
  for (const [key, value] of Object.entries(fields)) {
    if (!known.includes(key)) {
      return `${quoted(key)} is no key of ${type}; it has ${known.join(', ')}`
    }
    const wrong = valueProblem(key, value)
    if (wrong !== undefined) return `${key} ${wrong}`
  }
  const missing = required.find((key) => fields[key] === undefined)
  if (missing !== undefined) return `${missing} is missing, which ${type} needs`
  if (fields['corruptResponse'] === false) return 'corruptResponse: false injects nothing'
  if (fields['afterBytes'] !== undefined && fields['afterMs'] !== undefined) {
    return 'give afterBytes or afterMs, not both'
  }
  return undefined
}

function valueProblem(key: string, value: unknown): string | undefined {
  switch (key) {
    case 'type':
      return undefined
    case 'message':
      return typeof value === 'string' ? undefined : 'must be a string'
    case 'corruptResponse':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'missingFields':
      return textsOf(value).length > 0 ? undefined : 'must be a list of at least one field name'
    case 'probability':
      return isWithin(value, 1) ? undefined : 'must be a number from 0 to 1'
    default:
      return isWithin(value, Number.MAX_SAFE_INTEGER) ? undefined : 'must be a number from 0 up'
  }
}

function isWithin(value: unknown, most: number): boolean {
  return typeof value === 'number' && value >= 0 && value <= most
}

/** Returns a list of strings; nothing for any other value. */
function textsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return []
  const texts = value.filter((each) => typeof each === 'string')
  return texts.length === value.length ? texts : []
}

function faultOf(type: MonkeyType, fields: Fields): MonkeyFault {
  const numberAt = (key: string): number | undefined => {
    const value = fields[key]
    return typeof value === 'number' ? value : undefined
  }
  const { message } = fields
  return {
    type,
    probability: numberAt('probability'),
    delayMs: numberAt('delayMs') ?? 0,
    statusCode: numberAt('statusCode') ?? 500,
    message: typeof message === 'string' ? message : undefined,
    hangMs: numberAt('hangMs') ?? 0,
    afterBytes: numberAt('afterBytes'),
    afterMs: numberAt('afterMs'),
    retryAfterSeconds: numberAt('retryAfterSeconds') ?? 0,
    missingFields: textsOf(fields['missingFields']),
  }
}
