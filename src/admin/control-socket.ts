import { chmodSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { bind } from '../listener/front/bind.ts'
import type { Logger } from '../telemetry/log.ts'
import { PRE_STOP_PATH } from './control-paths.ts'

export interface Controlled {
  /** Ends all faults; traffic is served as before. */
  disarm(): void
  /** Resolves to true while any upstream accepts connections; to undefined without an upstream. */
  upstreamAccepts(): Promise<boolean | undefined>
}

const MAX_HEADER_BYTES = 4 * 1024
const MAX_CONNECTIONS = 8
const MAX_WAIT_MS = 3_600_000
const POLL_MS = 200

/**
 * Creates the socket. It needs no token: only the sidecar's user may open the file, no other
 * container mounts the volume, and no network leads there.
 */
export function createControlSocket(controlled: Controlled, logger: Logger) {
  const closing = new AbortController()
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    response.on('error', () => undefined)
    handle(controlled, request, response, closing.signal).catch((err: unknown) => {
      logger.error({ err }, 'the control socket failed to respond')
      response.destroy()
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  return {
    listen: async (path: string) => {
      await bind(server, { kind: 'unix', path })
      chmodSync(path, 0o600)
    },
    close: () => {
      closing.abort()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function handle(
  controlled: Controlled,
  request: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://control')
  const wait = Number(url.searchParams.get('wait') ?? '0')
  if (request.method !== 'POST' || url.pathname !== PRE_STOP_PATH) {
    return end(response, 404, 'not found; use POST /pre-stop')
  }
  if (!Number.isInteger(wait) || wait < 0 || wait > MAX_WAIT_MS) {
    return end(response, 400, `wait must be a number of milliseconds up to ${MAX_WAIT_MS}`)
  }
  // At once, before any wait: a terminating pod must not fail because of faults.
  controlled.disarm()
  const until = performance.now() + wait
  for (;;) {
    const accepts = await controlled.upstreamAccepts()
    if (accepts === false) return end(response, 200, 'disarmed; the upstream has exited')
    if (closing.aborted || performance.now() >= until) {
      const why = accepts ? 'the upstream is still running' : 'there is no upstream to wait for'
      return end(response, 200, `disarmed; ${why}`)
    }
    await sleep(POLL_MS)
  }
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`${text}\n`)
}
