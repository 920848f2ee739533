import type { SettingId } from './settings.ts'

/** The expected reports of the Python SDK. */
export interface PythonRow {
  readonly in: readonly SettingId[]
  readonly says: string
  readonly counted?: string
  readonly next?: string
}

const HTTP: readonly SettingId[] = ['json', 'sse', 'resumable', 'modern-json', 'modern-sse']

/** The expected rows of the Python SDK over Streamable HTTP, by the titles of the variants. */
export const PYTHON_ROWS: Readonly<Record<string, readonly PythonRow[]>> = {
  'abort: { status: 500 }': [{ in: HTTP, says: 'MCPError -32603' }],
  'abort: { status: 503, body: "<h1>503</h1>", headers: { content-type: text/html } }': [
    { in: HTTP, says: 'MCPError -32603' },
  ],
  'abort: { status: 404 }': [
    { in: ['json', 'sse', 'resumable'], says: 'MCPError -32600' },
    { in: ['modern-json', 'modern-sse'], says: 'MCPError -32601' },
  ],
  'abort: { status: 400 }': [{ in: HTTP, says: 'MCPError -32603' }],
  'abort: { status: 202, body: "" }': [{ in: HTTP, says: 'MCPError -32600' }],
  'abort: { status: 503, at: response }': [
    { in: ['json', 'modern-json'], says: 'MCPError -32603' },
    { in: ['sse', 'resumable', 'modern-sse'], says: 'ok' },
  ],
  'abort: { rpcError: { code: -32603, message: db-7 is gone } }': [
    { in: HTTP, says: 'MCPError -32603' },
  ],
  'abort: { rpcError: { code: -32603 }, at: response }': [{ in: HTTP, says: 'MCPError -32603' }],
  'abort: { toolError: db-7 is gone }': [{ in: HTTP, says: 'tool error' }],
  'abort: { toolError: db-7 is gone, at: response }': [{ in: HTTP, says: 'tool error' }],
  'rateLimit: {}': [{ in: HTTP, says: 'MCPError -32603' }],
  'rateLimit: { as: rpc }': [
    { in: ['json', 'sse', 'resumable'], says: 'MCPError -32029' },
    { in: ['modern-json', 'modern-sse'], says: 'MCPError 429' },
  ],
  'rateLimit: { limit: { calls: 1, per: 1m } }': [{ in: HTTP, says: 'ok' }],
  'unauthorized: {}': [{ in: HTTP, says: 'MCPError -32603' }],
  'unauthorized: { status: 403, scope: "files:write" }': [{ in: HTTP, says: 'MCPError -32603' }],
  'session: {}': [
    { in: ['json', 'sse', 'resumable'], says: 'MCPError -32001', next: 'MCPError -32001' },
    { in: ['modern-json', 'modern-sse'], says: 'ok' },
  ],
  'delay: { fixed: 40ms }': [{ in: HTTP, says: 'ok' }],
  'delay: { fixed: 40ms, at: response }': [{ in: HTTP, says: 'ok' }],
  'delay: { fixed: 20ms, at: event }': [{ in: HTTP, says: 'ok' }],
  'delay: { fixed: 1h, at: response }': [{ in: HTTP, says: 'timeout' }],
  'hang: {}': [{ in: HTTP, says: 'timeout' }],
  'hang: { at: headers }': [{ in: HTTP, says: 'timeout' }],
  'hang: { at: event }': [
    { in: ['json', 'modern-json'], says: 'ok' },
    { in: ['sse', 'resumable', 'modern-sse'], says: 'timeout' },
  ],
  'hang: { at: event, after: { bytes: 20B } }': [{ in: HTTP, says: 'timeout' }],
  'throttle: { rate: 8KiB }': [{ in: HTTP, says: 'ok' }],
  'throttle: { rate: 8KiB, direction: request }': [{ in: HTTP, says: 'ok' }],
  'reset: {}': [{ in: HTTP, says: 'client dies: ReadError', next: '–' }],
  'reset: { how: fin }': [{ in: HTTP, says: 'client dies: RemoteProtocolError', next: '–' }],
  'reset: { at: response }': [
    { in: ['json', 'modern-json'], says: 'client dies: ReadError', next: '–' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
    { in: ['resumable'], says: 'ok' },
  ],
  'reset: { at: response, how: fin }': [
    { in: ['json', 'modern-json'], says: 'client dies: RemoteProtocolError', next: '–' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
    { in: ['resumable'], says: 'ok' },
  ],
  'reset: { at: stream }': [
    { in: ['json', 'resumable', 'modern-json'], says: 'ok' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
  ],
  'reset: { at: stream, how: fin }': [
    { in: ['json', 'resumable', 'modern-json'], says: 'ok' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
  ],
  'reset: { at: stream, after: { bytes: 20B } }': [
    { in: ['json', 'modern-json'], says: 'client dies: ReadError', next: '–' },
    { in: ['sse', 'resumable', 'modern-sse'], says: 'MCPError -32000' },
  ],
  'truncate: {}': [
    { in: ['json', 'modern-json'], says: 'client dies: RemoteProtocolError', next: '–' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
    { in: ['resumable'], says: 'ok' },
  ],
  'truncate: { framing: clean }': [
    { in: ['json', 'modern-json'], says: 'MCPError -32700' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
    { in: ['resumable'], says: 'ok' },
  ],
  'truncate: { after: { events: 1 }, framing: clean }': [
    { in: ['json', 'resumable', 'modern-json'], says: 'ok' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
  ],
  'truncate: { content: { items: 2 } }': [{ in: HTTP, says: 'ok (changed)' }],
  'truncate: { content: { chars: 2 } }': [{ in: HTTP, says: 'ok (changed)' }],
  'stream: { close: last }': [
    { in: ['json', 'resumable', 'modern-json'], says: 'ok' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
  ],
  'stream: { drop: last }': [
    { in: ['json', 'modern-json'], says: 'ok' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
    { in: ['resumable'], says: 'timeout' },
  ],
  'stream: { drop: notifications }': [{ in: HTTP, says: 'ok' }],
  'stream: { duplicate: last }': [{ in: HTTP, says: 'ok' }],
  'stream: { wrongId: other }': [
    { in: ['json', 'modern-json'], says: 'timeout' },
    { in: ['sse', 'modern-sse'], says: 'ok' },
    { in: ['resumable'], says: 'ok', counted: 'abandoned/injected' },
  ],
  'stream: { wrongId: type }': [
    { in: ['json', 'sse', 'modern-json', 'modern-sse'], says: 'ok' },
    { in: ['resumable'], says: 'ok', counted: 'abandoned/injected' },
  ],
  'stream: { reorder: last }': [{ in: HTTP, says: 'ok' }],
  'stream: { split: all, pause: 5ms }': [{ in: HTTP, says: 'ok' }],
  'corrupt: {}': [
    { in: ['json', 'sse', 'modern-json', 'modern-sse'], says: 'MCPError -32700' },
    { in: ['resumable'], says: 'MCPError -32700', counted: 'abandoned/injected' },
  ],
  'corrupt: { mode: html }': [
    { in: ['json', 'modern-json'], says: 'MCPError -32600' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32700' },
    { in: ['resumable'], says: 'MCPError -32700', counted: 'abandoned/injected' },
  ],
  'corrupt: { mode: empty }': [
    { in: ['json', 'modern-json'], says: 'MCPError -32700' },
    { in: ['sse', 'modern-sse'], says: 'MCPError -32000' },
    { in: ['resumable'], says: 'timeout' },
  ],
  'corrupt: { mode: invalid-utf8 }': [
    { in: ['json', 'modern-json'], says: 'MCPError -32700' },
    { in: ['sse', 'resumable', 'modern-sse'], says: 'ok (changed)' },
  ],
  'corrupt: { contentType: text/plain }': [{ in: HTTP, says: 'MCPError -32600' }],
  'rewrite: { retype: { /temperature: string } }': [{ in: HTTP, says: 'RuntimeError' }],
  'rewrite: { retype: { /temperature: string } }, behind a list': [
    { in: HTTP, says: 'RuntimeError' },
  ],
  'rewrite: { remove: /temperature }, behind a list': [{ in: HTTP, says: 'RuntimeError' }],
  'rewrite: { text: { append: " and nothing else" } }': [{ in: HTTP, says: 'ok (changed)' }],
  'poison: { preset: instructions }': [{ in: HTTP, says: 'ok (changed)' }],
  'inflate: { to: 1MiB }': [
    { in: ['json', 'modern-json'], says: 'ok (changed)' },
    // The client takes events up to 1 MiB.
    { in: ['sse', 'resumable', 'modern-sse'], says: 'MCPError -32000' },
  ],
  'inflate: { to: 64KiB, with: "All work and no play. " }': [{ in: HTTP, says: 'ok (changed)' }],
  'rewrite: { in: message, nullify: /result }': [{ in: HTTP, says: 'MCPError -32700' }],
  'rewrite: { in: arguments, set: { /n: 9 } }': [{ in: HTTP, says: 'ok (changed)' }],
  'catalog: { hide: "*" }': [{ in: HTTP, says: 'ok (changed)' }],
  'catalog: { add: [{ name: ghost }] }': [{ in: HTTP, says: 'ok (changed)' }],
  'catalog: { cursor: invalid }': [{ in: HTTP, says: 'ok' }],
  'catalog: { notify: spurious }': [{ in: HTTP, says: 'ok' }],
  'replay: { by: all }, behind a call': [{ in: HTTP, says: 'ok (changed)' }],
  'amplify: { copies: 2 }': [{ in: HTTP, says: 'ok' }],
  'process: { exit: 1 }': [{ in: HTTP, says: 'ok' }],
}
