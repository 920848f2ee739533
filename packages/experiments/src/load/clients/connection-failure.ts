import type { CallResponse } from './load-client.ts'

export interface FailedAt {
  /** The call had timed out. */
  readonly late: boolean
  /** The headers of a response had arrived. */
  readonly headSeen: boolean
  readonly markers: readonly string[]
}

const NOT_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
])

export function connectionFailure(
  error: unknown,
  { late, headSeen, markers }: FailedAt,
): CallResponse {
  if (late) return { kind: 'timeout', markers, message: 'no response in time' }
  const code = codeOf(error)
  const root = error instanceof Error ? (error.cause ?? error) : error
  const message = root instanceof Error ? root.message : String(root)
  if (code !== undefined && NOT_REACHED.has(code))
    return { kind: 'refused', markers, message: code }
  if (code?.startsWith('HPE_') === true) return { kind: 'malformed', markers, message: code }
  // Headers arrived and there was no reset: the server closed before the end of the body.
  const cut = headSeen && code !== 'ECONNRESET'
  return { kind: cut ? 'incomplete' : 'reset', markers, message: code ?? message }
}

/** Returns the code of an error or of its cause. */
export function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as { readonly code?: unknown }
    if (typeof code === 'string') return code
    const [first] = (at as { readonly errors?: readonly unknown[] }).errors ?? []
    if (first !== undefined) return codeOf(first)
  }
  return undefined
}
