import { resultOf } from './tool.ts'

/** In a few words, which a later reader can compare, what a client reports of a call. */
export async function wordOf(call: Promise<unknown>, expected: unknown): Promise<string> {
  try {
    return wordOfResult(await call, expected)
  } catch (error) {
    return wordOfError(error as Error & Record<string, unknown>)
  }
}

/** Returns the result of the n-th call without a fault, for comparison. */
export function plainResult(n: number): unknown {
  return resultOf(n)
}

function wordOfResult(result: unknown, expected: unknown): string {
  if (typeof result === 'object' && result !== null && 'isError' in result && result.isError) {
    return 'tool error'
  }
  return stable(result) === stable(expected) ? 'ok' : 'ok (changed)'
}

function wordOfError(error: Error & Record<string, unknown>): string {
  const { code, status, message } = error
  const name = error.constructor.name
  if (code === 'REQUEST_TIMEOUT' || (code === -32001 && /timed out/i.test(message)))
    return 'timeout'
  if (name === 'TypeError') return `TypeError: ${message}`
  const data = error['data'] as { status?: unknown } | undefined
  const more = [status, data?.status, code].find(
    (part) => typeof part === 'number' || typeof part === 'string',
  )
  return more === undefined ? name : `${name} ${more}`
}

function stable(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => {
    if (key === '_meta' || key === 'resultType') return undefined
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
