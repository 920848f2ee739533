const REDACTED = '[redacted]'
// Deeper values are not printed in full by pino either.
const MAX_DEPTH = 8
// What refers to itself in many ways would otherwise be copied without end.
const MAX_VALUES = 2_000
const SECRET_WORDS = ['authorization', 'cookie', 'apikey', 'token', 'secret', 'password'] as const
const MAX_KEY = 64
// The fields of lines are the same few again and again.
const MAX_JUDGED = 1_000
const judged = new Map<string, boolean>()

/**
 * True for names of headers and fields whose value is a secret. Tokens that count or order things
 * are spared by their exact names.
 */
function isSecretName(name: string): boolean {
  if (name.length > MAX_KEY) return false
  const known = judged.get(name)
  if (known !== undefined) return known
  const secret = looksSecret(name)
  if (judged.size < MAX_JUDGED) judged.set(name, secret)
  return secret
}

function looksSecret(name: string): boolean {
  const plain = name.toLowerCase().replaceAll('-', '').replaceAll('_', '')
  if (plain === 'progresstoken') return false
  return SECRET_WORDS.some((word) => plain.includes(word))
}

/** A copy of a log line's fields without the values of secrets, at any depth. */
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
  for (const [key, value] of Object.entries(source)) {
    // Not an assignment: a key named __proto__ would change the copy instead of joining it.
    Object.defineProperty(copy, key, {
      value: isSecretName(key) ? REDACTED : copyValue(value, depth, budget),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return copy
}

/** Headers are often kept as name, value, name, value: what follows a secret's name is hidden. */
function copyArray(source: readonly unknown[], depth: number, budget: Budget): unknown[] {
  return source.map((value, i) => {
    const before = source[i - 1]
    return typeof before === 'string' && isSecretName(before)
      ? REDACTED
      : copyValue(value, depth, budget)
  })
}

/** What an error says of itself; whatever else hangs on it (a request, its headers) stays out. */
function copyError(error: Error, depth: number, budget: Budget): Record<string, unknown> {
  const copy: Record<string, unknown> = { type: error.name, message: error.message }
  if ('code' in error) copy['code'] = copyValue(error.code, depth, budget)
  copy['stack'] = error.stack
  if (error.cause !== undefined) copy['cause'] = copyValue(error.cause, depth, budget)
  return copy
}
