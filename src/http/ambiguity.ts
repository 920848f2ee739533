import { headerValues, type RequestHead } from './headers.ts'

/** Rejects a request that two servers could read differently, before the upstream sees it. */
export interface Ambiguity {
  readonly status: 400 | 501 | 505
  readonly message: string
}

/**
 * Finds forms that the strict parser accepts and a laxer upstream could read differently: they
 * would bypass rules, or any other filter in front of the upstream.
 */
export function findAmbiguity(head: RequestHead): Ambiguity | undefined {
  const { headers } = head
  const hosts = headerValues(headers, 'host')
  if (hosts.length > 1) return { status: 400, message: 'more than one Host header' }
  const codings = headerValues(headers, 'transfer-encoding')
  if (codings.length > 0) {
    if (codings.length > 1 || codings[0]!.trim().toLowerCase() !== 'chunked') {
      return { status: 501, message: 'a transfer coding other than chunked' }
    }
    if (head.version === '1.0') return { status: 400, message: 'a transfer coding in HTTP/1.0' }
  }
  return ambiguousTarget(head, hosts[0])
}

function ambiguousTarget(
  { method, target }: RequestHead,
  host: string | undefined,
): Ambiguity | undefined {
  if (target.startsWith('/') || (target === '*' && method === 'OPTIONS')) return undefined
  const match = /^https?:\/\/([^/?#]+)/i.exec(target)
  if (match === null) return { status: 400, message: 'a request target that is not a path' }
  return host?.trim().toLowerCase() === match[1]!.toLowerCase()
    ? undefined
    : { status: 400, message: 'a request target whose host differs from the Host header' }
}
