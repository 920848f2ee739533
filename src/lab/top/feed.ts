import { get, type IncomingMessage } from 'node:http'
import { API } from '../../admin/api.ts'
import { connectionProblem, AdminError, failureOf } from '../../admin/api-client.ts'
import { CLIENT_HEADER } from '../../http/trusted-host.ts'
import { SseFramer } from '../../mcp/sse-framer.ts'
import { type Place, placeText } from './sidecar-view.ts'
import { readSnapshot, type Snapshot } from './read-snapshot.ts'
import { foreignCell } from '../../base/text/foreign-text.ts'

/** Receives the events of a sidecar. */
export interface FeedListener {
  onSnapshot(snapshot: Snapshot): void
  /** The connection is lost, or not there yet; the feed reconnects. */
  onLost(problem: string): void
}

/** Configures the requests and timeouts of a feed. */
export interface FeedOptions {
  /** The read token, for sidecars that ask for one. */
  readonly readToken?: string | undefined
  /** For an event, and for the first one. */
  readonly silenceMs?: number
  /** Before it tries again. */
  readonly againMs?: number
}

const SILENCE_MS = 4_000
const AGAIN_MS = 1_000
const MAX_AGAIN = 5
const MAX_EVENT = 4 * 1024 * 1024

/** Reads the events of a sidecar until it is closed, and reconnects when the stream ends. */
export function openFeed(
  { host, port }: Place,
  listener: FeedListener,
  { readToken, silenceMs = SILENCE_MS, againMs = AGAIN_MS }: FeedOptions = {},
): { close(): void } {
  let closed = false
  let tries = 0
  let end: (problem: string) => void = () => undefined
  let timer: NodeJS.Timeout | undefined

  const open = (): void => {
    let over = false
    const request = get({
      host,
      port,
      path: API.events.path,
      agent: false,
      headers: {
        accept: 'text/event-stream',
        [CLIENT_HEADER]: 'top',
        ...(readToken !== undefined && { authorization: `Bearer ${readToken}` }),
        host: placeText({ host, port }),
      },
    })
    end = (problem) => {
      if (over) return
      over = true
      clearTimeout(timer)
      request.destroy()
      if (closed) return
      listener.onLost(problem)
      tries = Math.min(tries + 1, MAX_AGAIN)
      timer = setTimeout(open, againMs * tries)
    }
    const heard = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => end('no event for too long'), silenceMs)
    }
    const take = (data: string): void => {
      const snapshot = readSnapshot(data)
      tries = 0
      heard()
      listener.onSnapshot(snapshot)
    }
    const listen = (response: IncomingMessage): void => {
      response.on('error', () => end('the connection broke'))
      response.on('close', () => end('the connection ended'))
      const framer = new SseFramer(MAX_EVENT)
      response.on('data', (chunk: Buffer) => {
        try {
          framer.push(chunk, ({ oversized, data }) => {
            if (over) return
            if (oversized) end('sent an event that is too large')
            else if (data !== undefined) take(data)
          })
        } catch (error) {
          end(error instanceof AdminError ? error.message : 'sent an invalid event')
        }
      })
    }
    heard()
    request.on('error', (error) => end(connectionProblem(error)))
    request.on('response', (response) => {
      if (response.statusCode === 200 && isEventStream(response)) listen(response)
      else void refusalProblem(response, readToken).then(end)
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

/** Describes why something else than events came. */
async function refusalProblem(response: IncomingMessage, token = ''): Promise<string> {
  const { statusCode: status = 0 } = response
  const failure = foreignCell(await failureOf({ status, body: response }, token), 250)
  if (status === 401) {
    const what = token === '' ? 'needs a read token' : 'has another read token'
    return `${what}: --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN`
  }
  if (status === 404) return 'shows no rules: no Squall admin port, or one without --rules'
  return status === 200 ? 'not a Squall admin port' : failure
}
