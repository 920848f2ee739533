import { type IncomingMessage, get } from 'node:http'
import { foreignCell } from '../../base/text/foreign-text.ts'
import { CLIENT_HEADER } from '../../http/trusted-host.ts'
import { type SseFrame, SseFramer } from '../../mcp/sse-framer.ts'
import {
  AdminError,
  connectionProblem,
  failureOf,
  NO_SQUALL,
  type SidecarAdmin,
} from './api-client.ts'

/** Receives the events of a stream of the admin port. */
export interface EventListener {
  /** Reads the data of an event of this name; a thrown `AdminError` ends the connection. */
  onEvent(data: string, event: string | undefined): void
  /**
   * Reports that there is no connection; the client connects again. `opened` once there was one.
   */
  onLost(problem: string, opened: boolean): void
}

export interface EventClientOptions {
  /** The command that asks. */
  readonly client: string
  /** Explains a port that does not know the path. */
  readonly missing?: string
  /** The longest wait for the next event, or sign of life. */
  readonly silenceMs?: number | undefined
  /** The wait before the first reconnect. */
  readonly retryMs?: number | undefined
}

const SILENCE_MS = 4_000
const RETRY_MS = 1_000
const MAX_BACKOFF = 5
const MAX_EVENT = 4 * 1024 * 1024

/** Reads a stream of events until it is closed, and connects again when the stream ends. */
export function openEvents(
  admin: SidecarAdmin,
  path: string,
  listener: EventListener,
  options: EventClientOptions,
): { close(): void } {
  const { retryMs = RETRY_MS } = options
  let wasOpened = false
  let tries = 0
  let retry: NodeJS.Timeout | undefined
  let connection: { close(): void }
  const retrying: EventListener = {
    onEvent: (data, event) => {
      tries = 0
      listener.onEvent(data, event)
    },
    onLost: (problem, opened) => {
      wasOpened ||= opened
      tries = Math.min(tries + 1, MAX_BACKOFF)
      retry = setTimeout(open, retryMs * tries)
      listener.onLost(problem, wasOpened)
    },
  }
  const open = (): void => {
    connection = connect(admin, path, retrying, options)
  }
  open()
  return {
    close: () => {
      clearTimeout(retry)
      connection.close()
    },
  }
}

/** Reads the events of one connection until it is lost or closed. */
function connect(
  { url, readToken }: SidecarAdmin,
  path: string,
  listener: EventListener,
  { client, missing = NO_SQUALL, silenceMs = SILENCE_MS }: EventClientOptions,
): { close(): void } {
  let opened = false
  let ended = false
  const authorization = readToken === undefined ? {} : { authorization: `Bearer ${readToken}` }
  const headers = { accept: 'text/event-stream', [CLIENT_HEADER]: client, ...authorization }
  const request = get(new URL(path, url), { agent: false, headers })
  const close = (): void => {
    ended = true
    clearTimeout(silence)
    request.destroy()
  }
  const end = (problem: string): void => {
    if (ended) return
    close()
    listener.onLost(problem, opened)
  }
  const silence = setTimeout(() => end('no event for too long'), silenceMs)
  const take = ({ oversized, data, event, ends }: SseFrame): void => {
    if (ended) return
    if (oversized) return end('sent an event that is too large')
    if (ends) silence.refresh()
    if (data !== undefined) listener.onEvent(data, event)
  }
  request.on('error', (error) => end(connectionProblem(error)))
  request.on('response', (response) => {
    if (response.statusCode !== 200 || !isEventStream(response)) {
      void responseProblem(response, missing, readToken).then(end)
      return
    }
    opened = true
    response.on('error', () => end('the connection was lost'))
    response.on('close', () => end('the connection ended'))
    const framer = new SseFramer(MAX_EVENT)
    response.on('data', (chunk: Buffer) => {
      try {
        framer.push(chunk, take)
      } catch (error) {
        end(error instanceof AdminError ? error.message : 'sent an invalid event')
      }
    })
  })
  return { close }
}

function isEventStream({ headers }: IncomingMessage): boolean {
  return /^text\/event-stream *(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** Describes a response that is not an event stream. */
async function responseProblem(
  response: IncomingMessage,
  missing: string,
  token = '',
): Promise<string> {
  const { statusCode: status = 0 } = response
  const failure = foreignCell(await failureOf({ status, body: response }, token), 250)
  if (status === 401) {
    const what = token === '' ? 'requires a read token' : 'rejected the read token'
    return `${what}: --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN`
  }
  if (status === 404) return missing
  return status === 200 ? NO_SQUALL : failure
}
