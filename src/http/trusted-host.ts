/**
 * Identifies the requests of Squall's own clients. Scripts of a web page cannot set a header whose
 * name begins with `sec-`.
 */
export const CLIENT_HEADER = 'sec-squall-client'

/** Carries the read token when `authorization` is for an intermediary, such as an API server. */
export const TOKEN_HEADER = 'x-squall-authorization'

const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]\\]+)(?::\d{1,5})?$/
const ADDRESS = /^(?:\[.+\]|\d{1,3}(?:\.\d{1,3}){3})$/
/** Suffixes that cannot be registered on the Internet: clusters, clouds and machines use them. */
const LOCAL_NAMES = ['.localhost', '.svc', '.cluster.local', '.internal']

/**
 * Returns true when no web page on a registered name could have sent this `Host`. DNS rebinding
 * resolves an attacker's name to a foreign address, but the browser still sends the name. Trusted
 * are addresses, names with a single label, names that cannot be registered, and those in `listed`:
 * exactly, or everything below `*.example.com`. Browsers never omit `Host`.
 */
export function isTrustedHost(header: string | undefined, listed: readonly string[]): boolean {
  if (header === undefined || header === '') return true
  const host = HOST.exec(header.toLowerCase())?.[1]?.replace(/\.$/, '')
  if (host === undefined) return false
  if (ADDRESS.test(host) || !host.includes('.')) return true
  if (LOCAL_NAMES.some((end) => host.endsWith(end))) return true
  return listed.some((name) =>
    name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name,
  )
}
