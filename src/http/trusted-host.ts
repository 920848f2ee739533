/**
 * Marks the requests of Squall's own clients. Scripts of a web page cannot set a header whose name
 * begins with `sec-`, so that a request that has it is none of a page.
 */
export const CLIENT_HEADER = 'sec-squall-client'

/** Carries the read token where `authorization` is for somebody on the way, as for an API server. */
export const TOKEN_HEADER = 'x-squall-authorization'

const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]\\]+)(?::\d{1,5})?$/
const ADDRESS = /^(?:\[.+\]|\d{1,3}(?:\.\d{1,3}){3})$/
/** Names below these are given out by nobody on the Internet: clusters, clouds and machines use them. */
const LOCAL_NAMES = ['.localhost', '.svc', '.cluster.local', '.internal']

/**
 * Returns whether a web page on a name of its own could not have sent this `Host`. DNS rebinding
 * leads a name that somebody owns to an address that is not theirs; the browser still sends the name.
 * Addresses, names with a single label and names that cannot be registered are trusted, and those in
 * `listed`: exactly, or everything below `*.example.com`. Browsers never leave `Host` out.
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
