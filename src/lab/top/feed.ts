import { type IncomingMessage, get } from 'node:http'
import { API } from '../../admin/api.ts'
import { AdminError, connectionProblem, failureOf } from '../../admin/api-client.ts'
import { CLIENT_HEADER } from '../../http/trusted-host.ts'
import { SseFramer } from '../../mcp/sse-framer.ts'
import { type AdminEndpoint, type Board, SidecarWatch, endpointText } from './sidecar-view.ts'
import { type Snapshot, readSnapshot } from './read-snapshot.ts'
import { foreignCell } from '../../base/text/foreign-text.ts'

export interface FeedListener {
  onSnapshot(snapshot: Snapshot): void
  /** Reports that there is no connection; the feed reconnects. */
  onLost(problem: string): void
}

export interface FeedOptions {
  /** The token for sidecars that require a read token. */
  readonly readToken?: string | undefined
  /** The longest wait for the next event. */
  readonly silenceMs?: number
  /** The wait before the first reconnect. */
  readonly retryMs?: number
}

const SILENCE_MS = 4_000
const RETRY_MS = 1_000
const MAX_BACKOFF = 5
const MAX_EVENT = 4 * 1024 * 1024

/** Reads the events of a sidecar until the feed is closed, and reconnects when the stream ends. */
export function openFeed(
  { host, port }: AdminEndpoint,
  listener: FeedListener,
  { readToken, silenceMs = SILENCE_MS, retryMs = RETRY_MS }: FeedOptions = {},
): { close(): void } {
  let closed = false
  let tries = 0
  let end: (problem: string) => void = () => undefined
  let timer: NodeJS.Timeout | undefined

  const open = (): void => {
    let ended = false
    const request = get({
      host,
      port,
      path: API.events.path,
      agent: false,
      headers: {
        accept: 'text/event-stream',
        [CLIENT_HEADER]: 'top',
        ...(readToken !== undefined && { authorization: `Bearer ${readToken}` }),
        host: endpointText({ host, port }),
      },
    })
    end = (problem) => {
      if (ended) return
      ended = true
      clearTimeout(timer)
      request.destroy()
      if (closed) return
      listener.onLost(problem)
      tries = Math.min(tries + 1, MAX_BACKOFF)
      timer = setTimeout(open, retryMs * tries)
    }
    const restartTimer = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => end('no event for too long'), silenceMs)
    }
    const onEvent = (data: string): void => {
      const snapshot = readSnapshot(data)
      tries = 0
      restartTimer()
      listener.onSnapshot(snapshot)
    }
    const listen = (response: IncomingMessage): void => {
      response.on('error', () => end('the connection broke'))
      response.on('close', () => end('the connection ended'))
      const framer = new SseFramer(MAX_EVENT)
      response.on('data', (chunk: Buffer) => {
        try {
          framer.push(chunk, ({ oversized, data }) => {
            if (ended) return
            if (oversized) end('sent an event that is too large')
            else if (data !== undefined) onEvent(data)
          })
        } catch (error) {
          end(error instanceof AdminError ? error.message : 'sent an invalid event')
        }
      })
    }
    restartTimer()
    request.on('error', (error) => end(connectionProblem(error)))
    request.on('response', (response) => {
      if (response.statusCode === 200 && isEventStream(response)) listen(response)
      else void responseProblem(response, readToken).then(end)
    })
  }

  open()
  return {
    close: () => {
      closed = true
      end('closed')
      clearTimeout(timer)
    },
  }
}

function isEventStream({ headers }: IncomingMessage): boolean {
  return /^text\/event-stream *(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** Describes a response that is not an event stream. */
async function responseProblem(response: IncomingMessage, token = ''): Promise<string> {
  const { statusCode: status = 0 } = response
  const failure = foreignCell(await failureOf({ status, body: response }, token), 250)
  if (status === 401) {
    const what = token === '' ? 'needs a read token' : 'has another read token'
    return `${what}: --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN`
  }
  if (status === 404) return 'shows no rules: no Squall admin port, or one without --rules'
  return status === 200 ? 'not a Squall admin port' : failure
}

export interface Fleet {
  board(): Board
  /** Adds the rates of the last second to the trend. */
  tick(): void
  close(): void
}

/** Follows all sidecars; calls `changed` when the state of any sidecar changes. */
export function watchFleet(
  endpoints: readonly AdminEndpoint[],
  changed: () => void,
  options?: FeedOptions,
): Fleet {
  const watches = endpoints.map((endpoint) => new SidecarWatch(endpoint))
  const feeds = endpoints.map((endpoint, i) =>
    openFeed(
      endpoint,
      {
        onSnapshot: (snapshot) => {
          watches[i]!.update(snapshot, performance.now())
          changed()
        },
        onLost: (problem) => {
          watches[i]!.setLost(problem)
          changed()
        },
      },
      options,
    ),
  )
  return {
    board: () => ({
      at: new Date().toISOString(),
      sidecars: watches.map(({ view }) => view),
    }),
    tick: () => {
      for (const watch of watches) watch.tick()
    },
    close: () => {
      for (const feed of feeds) feed.close()
    },
  }
}
