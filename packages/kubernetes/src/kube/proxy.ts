import { isIP } from 'node:net'
import { parseCidr } from '#protocol'
import type { Environment } from './cluster-access.ts'
import { configError } from './kube-error.ts'

/** Parses the URL of a proxy; `where` names its source. Throws a `KubeError`, without the URL. */
export function parseProxy(text: string, where: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.hostname && /^(?:https?|socks5h?):$/.test(url.protocol)) return url
  throw configError(
    `${where} is not the URL of a proxy; write http://HOST:PORT or socks5://HOST:PORT`,
  )
}

/** Returns the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY choose, as for kubectl. */
export function proxyOf(server: URL, env: Environment): URL | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const text = env[name] || env[name.toLowerCase()] || ''
  const excluded = (env['NO_PROXY'] || env['no_proxy'] || '').split(',')
  const direct = ['localhost', '127.0.0.0/8', '::1/128', ...excluded]
  if (text === '' || direct.some((each) => covers(each.trim().toLowerCase(), server))) {
    return undefined
  }
  return parseProxy(text.includes('://') ? text : `http://${text}`, name)
}

/** Returns whether an entry of NO_PROXY covers a server: `*`, a name, an address, or a network. */
function covers(entry: string, { hostname, protocol, port }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (entry.includes('/')) return isIP(host) !== 0 && parseCidr(entry)?.has(host) === true
  const withPort = `:${port || (protocol === 'https:' ? 443 : 80)}`
  const name = entry
    .replace(withPort, '')
    .replace(/^\*?\.(?=.)/, '')
    .replace(/^\[|\]$/g, '')
  return name === '*' || host === name || (name !== '' && host.endsWith(`.${name}`))
}
