import type { ServerResponse } from 'node:http'

/** The means by which a server that fails sends what it sends. */
export interface FailingResponse {
  /** True for a stream of events. */
  readonly isStream: boolean
  /**
   * Sends the status and the headers, unless they are out. The announced length stays with `keep`.
   */
  head(other?: { readonly keep?: true; readonly type?: string; readonly status?: number }): void
  write(bytes: string | Buffer): void
  end(): void
  /** Ends the connection in order, in the middle of the response. */
  fin(): void
  reset(): void
}

/**
 * Handles the piece that contains the response to the call: an event, or the whole body.
 * Returns true to let the rest of the response proceed as usual.
 */
export type BeforeResponse = (piece: string, answer: FailingResponse) => boolean

/** Lets a response that an SDK writes fail at the piece that answers; until then it is as it is. */
export function failAtResponse(
  response: ServerResponse,
  failure: {
    readonly beforeResponse?: BeforeResponse
    readonly type?: string
    readonly atStart?: true
  },
): void {
  const { beforeResponse, type: claimed, atStart = false } = failure
  const write = response.write.bind(response)
  const end = response.end.bind(response)
  const writeHead = response.writeHead.bind(response)
  const flushHeaders = response.flushHeaders.bind(response)
  let held: { status: number; headers: Record<string, string> } | undefined
  let state: 'before' | 'over' | 'behind' = 'before'
  let text = ''

  const answer: FailingResponse = {
    get isStream() {
      const type = held?.headers['content-type'] ?? String(response.getHeader('content-type'))
      return response.headersSent || type.startsWith('text/event-stream')
    },
    head({ keep, type, status } = {}) {
      if (held === undefined) return
      const headers = { ...held.headers }
      if (keep !== true) delete headers['content-length']
      const other = type ?? claimed
      if (other !== undefined) headers['content-type'] = other
      writeHead(status ?? held.status, headers)
      flushHeaders()
      held = undefined
    },
    write: (bytes) => void write(bytes),
    end: () => void end(),
    fin() {
      // From Node 24.22 on, the message itself holds what this tick has written.
      while (response.writableCorked > 0) response.uncork()
      response.socket?.end()
    },
    reset() {
      // The client has to read the bytes already sent before the reset discards them.
      if (response.headersSent) setTimeout(() => response.socket?.resetAndDestroy(), 100)
      else response.socket?.resetAndDestroy()
    },
  }

  const fail = (piece: string): void => {
    state = (beforeResponse?.(piece, answer) ?? true) ? 'behind' : 'over'
  }
  const takeEvent = (event: string): void => {
    if (state === 'before' && (atStart || /"result"|"error"/.test(event))) return fail(event)
    if (state === 'over') return
    answer.head()
    write(event)
  }
  const take = (bytes: string, whole: boolean): void => {
    text += bytes
    if (!answer.isStream) {
      if (whole) fail(text)
    } else {
      for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
        const event = text.slice(0, at + 2)
        text = text.slice(at + 2)
        takeEvent(event)
      }
    }
    if (whole && state !== 'over') {
      answer.head()
      end()
    }
  }

  Object.assign(response, {
    writeHead(status: number, headers: Record<string, unknown> = {}) {
      const texts = Object.entries(headers).map(([name, value]) => [
        name.toLowerCase(),
        String(value),
      ])
      held = { status, headers: Object.fromEntries(texts) as Record<string, string> }
      return response
    },
    flushHeaders: () => undefined,
    write(bytes: string | Uint8Array) {
      take(Buffer.from(bytes as Uint8Array).toString(), false)
      return true
    },
    end(bytes?: string | Uint8Array) {
      take(bytes === undefined ? '' : Buffer.from(bytes as Uint8Array).toString(), true)
      return response
    },
  })
}
