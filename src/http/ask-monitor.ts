import { readUpTo } from '../base/files.ts'
import { type Fields, fieldsOf, listOf, parsedJson, textsOf } from '../base/values.ts'
import { oneLine } from '../base/text/foreign-text.ts'

/** Reports that a monitoring system could not be read. */
export class MonitorError extends Error {
  override readonly name = 'MonitorError'
}

/** Configures one request. */
export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** The number of bytes after which the body is too long. */
  readonly most: number
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 5_000
const MAX_JSON = 4 * 1024 * 1024

/**
 * Gets a URL; redirects are not followed. The body ends beyond the maximum. Throws a
 * `MonitorError`.
 */
export async function ask(
  url: URL,
  { headers = {}, signal, most, timeoutMs = TIMEOUT_MS }: AskOptions,
): Promise<{ readonly status: number; readonly text: string }> {
  // Loaded late: commands start with this file, and few of them ask.
  const { request } = await import('undici')
  const limit = AbortSignal.timeout(timeoutMs)
  const either = signal === undefined ? limit : AbortSignal.any([limit, signal])
  try {
    const { statusCode, body } = await request(url, { headers: { ...headers }, signal: either })
    const bytes = await readUpTo(body, most)
    return { status: statusCode, text: bytes.toString('utf8') }
  } catch (error) {
    if (limit.aborted) throw new MonitorError(`no response within ${timeoutMs / 1000} s`)
    // The code of an abort is a number.
    const { code, message } = error as { readonly code?: unknown; readonly message: string }
    const why = typeof code === 'string' ? code : message
    throw new MonitorError(oneLine(why, 120), { cause: error })
  }
}

/** Asks an API below a base URL for JSON. Throws a `MonitorError`. */
export async function askJson(
  base: URL,
  path: string,
  query: Readonly<Record<string, string>>,
  options: Partial<AskOptions>,
): Promise<unknown> {
  const url = new URL(base)
  // A path that begins with two slashes would be another host if it were resolved.
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`
  url.search = new URLSearchParams(query).toString()
  const { most = MAX_JSON } = options
  const { status, text } = await ask(url, { ...options, most })
  if (status !== 200) throw new MonitorError(`${path} responded with status ${status}`)
  if (Buffer.byteLength(text) > most) throw new MonitorError(`${path} sent more than ${most} bytes`)
  const value = parsedJson(text)
  if (value === undefined) throw new MonitorError(`${path} returned invalid JSON`)
  return value
}

/**
 * Asks a Prometheus for the values of a query now, each with its labels; NaN for what is not a
 * number. Throws a `MonitorError`.
 */
export async function askPrometheus(base: URL, query: string, options: Partial<AskOptions>) {
  const found = await askJson(base, '/api/v1/query', { query }, options)
  const { resultType, result } = fieldsOf(fieldsOf(found)['data'])
  if (resultType !== 'scalar' && resultType !== 'vector') {
    throw new MonitorError('the query result must be a vector or a scalar')
  }
  const rows = resultType === 'scalar' ? [{ value: result }] : listOf(result)
  return rows.map(({ metric, value }: Fields) => {
    const text: unknown = Array.isArray(value) ? value[1] : undefined
    const number = typeof text === 'string' && text !== '' ? Number(text) : Number.NaN
    return { labels: textsOf(metric), value: number }
  })
}
