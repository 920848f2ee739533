import { createRequire } from 'node:module'
// The package's index loads fetch, WebSocket and caches too, and with them 9 MiB that nobody here
// uses.
import type Client from 'undici/lib/dispatcher/client.js'

const require = createRequire(import.meta.url)
let client: typeof Client | undefined

/**
 * undici's client, loaded when it is first asked for and at once: whoever asks holds a request or
 * the beginning of a response, of which nothing may be lost meanwhile.
 */
export function undiciClient(): typeof Client {
  client ??= require('undici/lib/dispatcher/client.js') as typeof Client
  return client
}
