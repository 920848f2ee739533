import { type SseFrame, SseFramer } from '../../mcp/sse-framer.ts'
import { get, type IncomingMessage } from 'node:http'
import { readUpTo } from '../../base/files.ts'
import { readShape, ShapeError } from './read-shape.ts'
import { foreignCell, plain } from '../../base/text/foreign-text.ts'
import { CLIENT_HEADER } from '../../http/trusted-host.ts'
import type { Endpoint, Problem, ResponseOf } from './api.ts'
import { SCHEMAS } from './api-schemas.ts'

/** The admin port of a sidecar. */
export interface SidecarAdmin {
  readonly url: URL
  /** The read token, for a sidecar that asks for one. */
  readonly readToken?: string | undefined
}

/** Options of one request. */
export interface AskOptions {
  /** The command that asks; the header marks the request as none of a web page. */
  readonly client: string
  readonly signal?: AbortSignal | undefined
  /** The admin token, for a change. */
  readonly token?: string
  readonly body?: object
  /** Limits the time of both attempts together. */
  readonly timeoutMs?: number
}

/** The admin port cannot be asked. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
  /** The HTTP status of an unsuccessful response. */
  readonly status: number | undefined

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly status?: number } = {},
  ) {
    super(message, { cause: options.cause })
    this.status = options.status
  }
}

/** Returns the message of an error, with the next step where no admin port responded. */
export function adminProblem({ status, message }: AdminError): string {
  return status === undefined ? `${message}; ${PASS_ADMIN_PORT}` : message
}

/** The largest response, and the largest event, that is read. */
export const MAX_BYTES = 4 * 1024 * 1024
const MAX_FAILURE_BYTES = 16 * 1024
/** A busy sidecar may take seconds to respond, and a packet may be lost. */
export const PATIENCE_MS = 10_000
const NO_SQUALL = 'not a Squall admin port'
export const PASS_ADMIN_PORT = 'pass the admin port of a running sidecar'
const NO_READ = 'requires the read token: set --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN'

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['UND_ERR_SOCKET', 'connection reset'],
  ['ENOTFOUND', 'no such host'],
  ['EAI_AGAIN', 'the host name cannot be resolved at the moment'],
  ['EHOSTUNREACH', 'host unreachable'],
  ['ENETUNREACH', 'network unreachable'],
  ['ETIMEDOUT', 'no response'],
  ['bad port', 'web browsers and HTTP clients block this port: use another port for --admin'],
])

/** The JSON of a response, and the time of the server. */
interface Asked<E extends Endpoint> {
  readonly value: ResponseOf<E>
  readonly date: number | undefined
}

/**
 * Asks an admin port for JSON, or for a change. Repeats a request that changes nothing once, when
 * half of the time has passed or the connection failed. Throws an `AdminError`.
 */
export async function askAdmin<E extends Endpoint>(
  admin: SidecarAdmin,
  endpoint: E,
  options: AskOptions,
): Promise<Asked<E>> {
  const { timeoutMs = PATIENCE_MS, signal } = options
  const until = performance.now() + timeoutMs
  if (endpoint.method !== 'GET') return askOnce(admin, endpoint, options, timeoutMs)
  try {
    return await askOnce(admin, endpoint, options, timeoutMs / 2)
  } catch (error) {
    const isSilent = error instanceof AdminError && error.cause !== undefined
    if (!isSilent || signal?.aborted === true) throw error
    return askOnce(admin, endpoint, options, Math.max(1, until - performance.now()))
  }
}

async function askOnce<E extends Endpoint>(
  { url, readToken }: SidecarAdmin,
  endpoint: E,
  { client, signal, token = readToken, body, timeoutMs = PATIENCE_MS }: AskOptions,
  limitMs: number,
): Promise<Asked<E>> {
  const { method, path } = endpoint
  const limit = AbortSignal.timeout(Math.ceil(limitMs))
  const either = signal === undefined ? limit : AbortSignal.any([limit, signal])
  const aborted = rejectedBy(either)
  try {
    const response = await fetch(new URL(path, url), {
      method,
      signal: either,
      redirect: 'error',
      headers: {
        [CLIENT_HEADER]: client,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) {
      const { status, headers } = response
      // Easily the port for clients, behind which the MCP server does not know the path or method.
      if ((status === 404 || status === 405) && !headers.has('x-squall-pid'))
        throw new AdminError(NO_SQUALL)
      const failure =
        status === 401 && method === 'GET'
          ? NO_READ
          : await Promise.race([failureOf(response, token), aborted])
      throw new AdminError(`${path} ${failure}`, { status })
    }
    const text = await Promise.race([boundedText(response.body, MAX_BYTES), aborted])
    const date = Date.parse(response.headers.get('date') ?? '')
    return { value: readResponse(endpoint, text), date: Number.isNaN(date) ? undefined : date }
  } catch (error) {
    if (error instanceof AdminError) throw error
    const cause = error as Error
    if (limit.aborted) throw new AdminError(`no response within ${timeoutMs / 1000} s`, { cause })
    throw new AdminError(connectionProblem(cause), { cause })
  }
}

/**
 * Reads the JSON that an endpoint sent, which may come from anybody: `readShape` checks, cuts and
 * cleans it. Throws an `AdminError`.
 */
export function readResponse<E extends Endpoint>(
  endpoint: E,
  json: string,
  clean = plain,
): ResponseOf<E> {
  try {
    return checkResponse(endpoint, JSON.parse(json), clean)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new AdminError(`${endpoint.path}: the response is not valid JSON`)
  }
}

/** The same for JSON that is parsed already. */
export function checkResponse<E extends Endpoint>(
  { path, response }: E,
  value: unknown,
  clean = plain,
): ResponseOf<E> {
  if (response === undefined) throw new TypeError(`${path} did not return JSON`)
  try {
    return readShape(response, value, clean) as ResponseOf<E>
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    const { message } = error
    throw new AdminError(
      `${path} cannot be read: ${message}; check that this command and the sidecar run the same version of Squall`,
    )
  }
}

/** Describes an unsuccessful response: its status, and its `error` without `hidden`. */
async function failureOf(
  { status, body }: { readonly status: number; readonly body: AsyncIterable<unknown> | null },
  hidden = '',
): Promise<string> {
  try {
    const text = await boundedText(body, MAX_FAILURE_BYTES)
    // A sidecar never sends a token back; another server may.
    const shown = hidden === '' ? text : text.replaceAll(hidden, '…')
    const { error } = readShape(SCHEMAS.failure, JSON.parse(shown), plain)
    return error === ''
      ? `responded with status ${status}`
      : `responded with status ${status}: ${error}`
  } catch {
    return `responded with status ${status}`
  }
}

/** Describes why there was no response. */
function connectionProblem(error: Error): string {
  // Without a code, fetch has its reason in the message of the cause.
  const { code: found, message } = (error.cause ?? error) as Error & { readonly code?: unknown }
  // A DOMException has a number there.
  const code = typeof found === 'string' ? found : ''
  if (code.startsWith('HPE_')) return 'is not an HTTP server'
  const reason = code === '' ? message : code
  return WORDS.get(reason) ?? plain(reason)
}

/** Describes an error of a rules file without its line. */
export function problemText({ path, message }: Problem): string {
  return path === '' ? message : `${path}: ${message}`
}

/**
 * Rejects when the signal aborts. On Node 20 and 22 an abort does not reach the body of a fetch
 * once garbage collection has taken the fetch's own controller.
 */
function rejectedBy(signal: AbortSignal): Promise<never> {
  const rejected = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  // After a response in time nothing else handles the rejection.
  rejected.catch(() => undefined)
  return rejected
}

async function boundedText(body: AsyncIterable<unknown> | null, most: number): Promise<string> {
  if (body === null) return ''
  const bytes = await readUpTo(body as AsyncIterable<Uint8Array>, most)
  if (bytes.length > most) throw new AdminError('the response is too large')
  return bytes.toString('utf8')
}

/** Receives the events of a stream of the admin port. */
export interface EventListener {
  /** Reads the data of an event of this name; a thrown `AdminError` ends the connection. */
  onEvent(data: string, event: string | undefined): void
  /**
   * Reports a missing connection; the client connects again. `opened`: it was connected before.
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
