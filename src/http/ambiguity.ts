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
  let hosts = 0
  let framed = false
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') framed = true
  }
  if (hosts > 1) return { status: 400, message: 'more than one Host header' }
  if (framed) {
    const codings = headerValues(headers, 'transfer-encoding')
    if (codings.length > 1 || codings[0]!.trim().toLowerCase() !== 'chunked') {
      return { status: 501, message: 'a transfer coding other than chunked' }
    }
    if (head.version === '1.0') return { status: 400, message: 'a transfer coding in HTTP/1.0' }
  }
  return ambiguousTarget(head, hosts)
}

function ambiguousTarget(head: RequestHead, hosts: number): Ambiguity | undefined {
  const { target } = head
  if (target.startsWith('/') || (target === '*' && head.method === 'OPTIONS')) return undefined
  const match = /^https?:\/\/([^/?#]+)/i.exec(target)
  if (match === null) return { status: 400, message: 'a request target that is not a path' }
  const authority = match[1]!.toLowerCase()
  const host = headerValues(head.headers, 'host')[0]?.trim().toLowerCase()
  return hosts === 1 && host === authority
    ? undefined
    : { status: 400, message: 'a request target whose host differs from the Host header' }
}
