import { headerValue, type RequestHead } from './headers.ts'

/** A client that no session identifies. */
export interface Caller {
  readonly head: RequestHead
  /** The client's address while the connection is open. */
  readonly peer: string | undefined
}

/** The headers that distinguish clients. */
const CALLER = [
  'authorization',
  'cookie',
  'user-agent',
  'x-api-key',
  'forwarded',
  'x-forwarded-for',
]

/** Returns true for requests that nothing distinguishes. */
export function isSameCaller(a: Caller | undefined, b: Caller): boolean {
  if (a === undefined || a.peer !== b.peer) return false
  const [one, other] = [a.head.headers, b.head.headers]
  return CALLER.every((name) => headerValue(one, name) === headerValue(other, name))
}

/** Returns a text that is equal for the same callers alone. It contains secrets. */
export function callerText({ head, peer = '' }: Caller): string {
  let text = peer
  for (const name of CALLER) text += `\n${headerValue(head.headers, name) ?? ''}`
  return text
}
