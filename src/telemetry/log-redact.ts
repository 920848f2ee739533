export const REDACTED = '[redacted]'
// Deeper values are not printed in full by pino either.
const MAX_DEPTH = 8
// Bounds copies of values that refer to themselves.
const MAX_VALUES = 2_000
/** Parts of the names of secrets, without dashes and underscores. */
export const SECRET_WORDS = [
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
  if (depth >= MAX_DEPTH || budget.left-- <= 0) return '[cut]'
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
