import { createRequire } from 'node:module'
import type httpProxy from 'http-proxy'

const require = createRequire(import.meta.url)

/** http-proxy, loaded at once: no event of the socket that waits for it may be lost meanwhile. */
export function httpProxyModule(): typeof httpProxy {
  return require('http-proxy') as typeof httpProxy
}
