import { setTimeout as sleep } from 'node:timers/promises'
import { fieldsOf, isRecord, listOf, quoted } from '#base'
import { type Message, FIRST_MODERN_PROTOCOL_VERSION } from '#protocol'
import { redactMessage, type TapeLine } from '#sidecar'
import type { PlayFlags } from '../commands/tape.ts'
import { keyOf, NAMED, nameOf, type Tape, type TapedCall, TapeError } from './tape.ts'

/** Says how a tape is played. */
export interface PlayOptions extends Partial<PlayFlags> {
  /** Gives a call that the tape has less often its last response once more. */
  readonly repeats?: boolean
  /** Calls a live server in its place; undefined when that server is not to be asked. */
  readonly live?:
    ((tool: string, args: Readonly<Record<string, unknown>>) => Promise<unknown>) | undefined
  /** Called for each request, before its response. */
  readonly onCall?: ((call: PlayedCall) => void) | undefined
}

/** A request of a client, and where its response comes from. */
export interface PlayedCall {
  readonly method: string
  readonly name: string
  readonly params: unknown
  /** Equal for calls that ask for the same. */
  readonly key: string
  /** The number of equal calls before this one in its session. */
  readonly occurrence: number
  /** `last` is an earlier response once more, `default` needs no tape. */
  readonly from: 'tape' | 'last' | 'off' | 'live' | 'default'
  /** The line of the recorded request. */
  readonly line: number | undefined
}

/** A request that was looked for on the tape. */
interface Found extends Pick<PlayedCall, 'key' | 'name' | 'occurrence' | 'from'> {
  readonly call: TapedCall | undefined
}

/** A part of the response to a request. */
export type Played =
  | { readonly kind: 'message'; readonly message: object; readonly status?: number }
  /** A result in the file, which is too large for the memory. */
  | { readonly kind: 'long'; readonly start: number; readonly end: number }
  | { readonly kind: 'status'; readonly status: number; readonly line: TapeLine }
  | { readonly kind: 'failed'; readonly line: TapeLine }

export type RpcRequest = Extract<Message, { readonly kind: 'request' }>

/** The longest wait for a client's response to a request of the server, in milliseconds. */
const MAX_WAIT = 60_000
const NEEDS: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}
const EMPTY: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])
const META = 'io.modelcontextprotocol'
const SUBSCRIPTION = `${META}/subscriptionId`
const CURSOR = 'tape:'
const MAX_HELD = 100
const NEVER = new AbortController().signal
/** Longer lines are results of tools. */
const MAX_ASKING = 256 * 1024

/** Plays a tape for any number of clients. */
export class Player {
  readonly tape: Tape
  readonly options: PlayOptions
  /** The recorded requests by key, and by tool, in order. */
  readonly #byKey = new Map<string, TapedCall[]>()
  readonly #byTool = new Map<string, TapedCall[]>()
  readonly #waiting = new Map<string, () => void>()
  /** The state of clients without a session. */
  readonly shared: PlayedSession
  #ids = 0

  /** Throws a `TapeError` when the session is not clear. */
  constructor(tape: Tape, options: PlayOptions = {}) {
    this.tape = tape
    this.options = options
    const session = chosenSession(tape, options.session)
    for (const call of tape.calls) {
      const isOther = session !== undefined && call.session !== session && call.session !== ''
      // Of the calls without a response, only a stream can be played: it stayed open to the end.
      if (isOther || !(call.isDone || call.method === 'subscriptions/listen')) continue
      addTo(this.#byKey, call.key, call)
      addTo(this.#byTool, toolKey(call.method, call.name), call)
    }
    this.shared = new PlayedSession(this)
  }

  /** True where the recorded server had sessions. */
  get hasSessions(): boolean {
    return (this.#byKey.get('initialize') ?? []).some(({ session }) => session !== '')
  }

  /** Returns the state of a new client; clients share one where calls of several sessions count. */
  session(): PlayedSession {
    return this.options.session === 'all' ? this.shared : new PlayedSession(this)
  }

  /** Takes the response of a client to a request of the server. */
  responded(id: unknown): void {
    this.#waiting.get(String(id))?.()
  }

  /** Returns a new id, and a promise of the response to it. */
  ask(signal: AbortSignal): { readonly id: string; readonly responded: Promise<unknown> } {
    const id = `tape-${++this.#ids}`
    const end = new AbortController()
    this.#waiting.set(id, () => end.abort())
    const both = AbortSignal.any([signal, end.signal])
    const responded = sleep(MAX_WAIT, undefined, { signal: both, ref: false })
      .catch(() => undefined)
      .finally(() => this.#waiting.delete(id))
    return { id, responded }
  }

  /** Returns the recorded requests with a key, or of the tool where arguments do not count. */
  recorded(key: string, method: string, name: string): readonly TapedCall[] {
    const byTool = this.options.match === 'tool' && NAMED.has(method)
    return (byTool ? this.ofTool(method, name) : this.#byKey.get(key)) ?? []
  }

  ofTool(method: string, name: string): readonly TapedCall[] | undefined {
    return this.#byTool.get(toolKey(method, name))
  }

  /** Returns the request at a line. */
  atLine(method: string, line: number): TapedCall | undefined {
    return this.ofTool(method, '')?.find((call) => call.line === line && call.isPage)
  }

  /** Returns the request for the page behind the response to another request. */
  pageAfter({ method, line, session }: TapedCall): TapedCall | undefined {
    return this.ofTool(method, '')?.find(
      (call) => call.isPage && call.line > line && call.session === session,
    )
  }
}

/** The state of a client. */
export class PlayedSession {
  readonly #player: Player
  readonly #counts = new Map<string, number>()
  #capabilities: Readonly<Record<string, unknown>> = {}
  /** Sends messages that belong to no request. */
  #push: ((message: object) => void) | undefined
  #held: object[] = []

  constructor(player: Player) {
    this.#player = player
  }

  /** Opens the stream of the client; returns the function that closes it. */
  open(push: (message: object) => void): () => void {
    this.#push = push
    for (const message of this.#held.splice(0)) push(message)
    return () => {
      if (this.#push === push) this.#push = undefined
    }
  }

  /** Plays what the server sent for a request; ends early when the signal is aborted. */
  async *play(request: RpcRequest, signal: AbortSignal): AsyncGenerator<Played> {
    const { params, method } = request
    this.#learn(method, params)
    let found = this.#find(request)
    // The recorded result follows for a client that cannot respond.
    while (found.from === 'tape' && (await this.#asksTooMuch(found.call)))
      found = this.#find(request)
    const { call, from } = found
    this.#player.options.onCall?.({ ...found, method, params, line: call?.line })
    if (call !== undefined && (from === 'tape' || from === 'last')) {
      yield* this.#responses(request, call, signal)
      await this.#pushAfter(call)
    } else if (from === 'live') {
      yield* this.#live(request)
    } else {
      yield messageOf(request, from === 'default' ? { result: {} } : offTapeOf(request))
    }
  }

  /** Learns what the client can do. */
  #learn(method: string, params: unknown): void {
    const { capabilities, _meta } = fieldsOf(params)
    const own = fieldsOf(_meta)[`${META}/clientCapabilities`]
    if (method === 'initialize' && isRecord(capabilities)) this.#capabilities = capabilities
    else if (isRecord(own)) this.#capabilities = own
  }

  /** Returns true for a result that asks for what the client cannot do. */
  async #asksTooMuch(call: TapedCall | undefined): Promise<boolean> {
    const last = call?.responses.at(-1)
    if (last === undefined || last.length > MAX_ASKING) return false
    const { result } = (await this.#player.tape.read(last)) ?? {}
    const { resultType, inputRequests } = fieldsOf(result)
    if (resultType !== 'input_required') return false
    return listOf(Object.values(fieldsOf(inputRequests))).some(({ method }) => this.#lacks(method))
  }

  /** Counts a request, and returns where its response comes from. */
  #find({ method, params }: RpcRequest): Found {
    const { redaction } = this.#player.tape
    // The secrets of a new client are replaced as on the tape.
    const key = keyOf(method, redactMessage({ method, params }, redaction)['params'])
    const name = nameOf(method, params)
    const occurrence = this.#counts.get(key) ?? 0
    this.#counts.set(key, occurrence + 1)
    return { key, name, occurrence, ...this.#source(key, { method, name, params }) }
  }

  #source(
    key: string,
    { method, name, params }: Pick<PlayedCall, 'method' | 'name' | 'params'>,
  ): Pick<Found, 'call' | 'from'> {
    const player = this.#player
    const { live, offTape, repeats } = player.options
    const { cursor } = fieldsOf(params)
    if (typeof cursor === 'string' && cursor.startsWith(CURSOR)) {
      const call = player.atLine(method, Number(cursor.slice(CURSOR.length)))
      return { call, from: call === undefined ? 'off' : 'tape' }
    }
    const recorded =
      method === 'initialize' ? this.#initialize(name) : player.recorded(key, method, name)
    const last = recorded.at(-1)
    const next = recorded[this.#countOf(key, method, name)]
    const call = next ?? (NAMED.has(method) ? undefined : last)
    if (call !== undefined) return { call, from: 'tape' }
    if (EMPTY.has(method)) return { call, from: 'default' }
    if (live !== undefined && method === 'tools/call') return { call, from: 'live' }
    if (repeats === true && last !== undefined) return { call: last, from: 'last' }
    const other = offTape === 'last' ? (last ?? player.ofTool(method, name)?.at(-1)) : undefined
    return { call: other, from: other === undefined ? 'off' : 'last' }
  }

  /** Returns the number of calls before this one that count: of the same tool, or with equal arguments. */
  #countOf(key: string, method: string, name: string): number {
    if (this.#player.options.match !== 'tool' || !NAMED.has(method))
      return this.#counts.get(key)! - 1
    const tool = `tool ${method} ${name}`
    const count = this.#counts.get(tool) ?? 0
    this.#counts.set(tool, count + 1)
    return count
  }

  /** Returns the recorded handshakes: with the version that the client asks for first. */
  #initialize(version: string): readonly TapedCall[] {
    const method = 'initialize'
    return this.#player.ofTool(method, version) ?? this.#player.recorded(method, method, '')
  }

  async *#responses(
    request: RpcRequest,
    call: TapedCall,
    signal: AbortSignal,
  ): AsyncGenerator<Played> {
    const { tape, options } = this.#player
    const started = performance.now()
    for (const taped of call.responses) {
      const line = await tape.read(taped)
      if (options.pace === 'real') {
        const wait = taped.at - call.at - (performance.now() - started)
        if (wait > 0) await sleep(wait, undefined, { signal }).catch(() => undefined)
      }
      if (signal.aborted) return
      if (line === undefined) {
        yield messageOf(request, errorOf(`${quoted(tape.path)} has changed at line ${taped.line}`))
        return
      }
      const long = await tape.longResult(taped)
      if (long !== undefined) yield { kind: 'long', ...long }
      else if (line.method !== undefined) yield* this.#fromServer(request, line, signal)
      else yield this.#ended(request, call, line)
    }
    // The recorded client left this stream, as the new one will.
    if (!call.isDone && !signal.aborted) await aborted(signal)
  }

  /** Returns the end of a call. */
  #ended(request: RpcRequest, call: TapedCall, line: TapeLine): Played {
    const { failed, status, omitted, error, result, bytes = 0 } = line
    if (failed !== undefined) return { kind: 'failed', line }
    if (omitted !== undefined) {
      const why = omitted === 'too_large' ? `it has ${bytes} bytes` : 'it could not be read'
      return messageOf(request, errorOf(`the recorded response is not on the tape: ${why}`))
    }
    if (error === undefined && result === undefined)
      return { kind: 'status', status: status ?? 200, line }
    if (error !== undefined) return messageOf(request, { error, status })
    return messageOf(request, { result: this.#result(request, call, line) })
  }

  /** Returns a result with the cursors and ids of the new client. */
  #result(request: RpcRequest, call: TapedCall, { result }: TapeLine): unknown {
    if (!isRecord(result)) return result
    const meta = result['_meta']
    if (typeof result['nextCursor'] === 'string' && request.method.endsWith('/list')) {
      const { nextCursor: _, ...rest } = result
      const next = this.#player.pageAfter(call)
      return next === undefined ? rest : { ...rest, nextCursor: `${CURSOR}${next.line}` }
    }
    if (!isRecord(meta) || meta[SUBSCRIPTION] === undefined) return result
    return { ...result, _meta: { ...meta, [SUBSCRIPTION]: request.id } }
  }

  /** Plays a notification or a request of the server. */
  async *#fromServer(
    request: RpcRequest,
    line: TapeLine,
    signal: AbortSignal,
  ): AsyncGenerator<Played> {
    const { method = '', id, params } = line
    if (id !== undefined) {
      // The recorded result follows for a client that cannot respond.
      if (this.#lacks(method)) return
      const asked = this.#player.ask(signal)
      yield {
        kind: 'message',
        message: { jsonrpc: '2.0', id: asked.id, method, ...withParams(params) },
      }
      await asked.responded
      return
    }
    const own = this.#notification(request, method, params)
    if (own !== undefined) yield { kind: 'message', message: own }
  }

  /** Returns a notification for a request; undefined for one that the client could not place. */
  #notification(
    request: RpcRequest | undefined,
    method: string,
    params: unknown,
  ): object | undefined {
    if (method === 'notifications/cancelled') return undefined
    const own = { jsonrpc: '2.0', method, ...withParams(params) }
    if (!isRecord(params)) return own
    if (params['progressToken'] !== undefined) {
      const { progressToken } = fieldsOf(fieldsOf(request?.params)['_meta'])
      return progressToken === undefined
        ? undefined
        : { ...own, params: { ...params, progressToken } }
    }
    const meta = params['_meta']
    if (!isRecord(meta) || meta[SUBSCRIPTION] === undefined) return own
    return { ...own, params: { ...params, _meta: { ...meta, [SUBSCRIPTION]: request?.id } } }
  }

  /** Sends what the server sent behind a call for no request. */
  async #pushAfter({ pushed = [] }: TapedCall): Promise<void> {
    for (const taped of pushed) {
      const { method, id, params } = (await this.#player.tape.read(taped)) ?? {}
      if (method === undefined || (id !== undefined && this.#lacks(method))) continue
      const own =
        id === undefined
          ? this.#notification(undefined, method, params)
          : { jsonrpc: '2.0', id: this.#player.ask(NEVER).id, method, ...withParams(params) }
      if (own === undefined) continue
      if (this.#push !== undefined) this.#push(own)
      else if (this.#held.length < MAX_HELD) this.#held.push(own)
    }
  }

  /** Returns true for a request that the client cannot respond to. */
  #lacks(method: unknown): boolean {
    const needs = typeof method === 'string' ? NEEDS[method] : undefined
    return needs !== undefined && this.#capabilities[needs] === undefined
  }

  async *#live(request: RpcRequest): AsyncGenerator<Played> {
    const { name, arguments: args } = fieldsOf(request.params)
    try {
      const result = await this.#player.options.live!(String(name), fieldsOf(args))
      yield messageOf(request, { result })
    } catch (error) {
      yield messageOf(request, errorOf(`the live server failed: ${(error as Error).message}`))
    }
  }
}

function addTo(map: Map<string, TapedCall[]>, key: string, call: TapedCall): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [call])
  else list.push(call)
}

function toolKey(method: string, name: string): string {
  return `${method} ${name}`
}

function withParams(params: unknown): object {
  return params === undefined ? {} : { params }
}

function messageOf(
  { id }: RpcRequest,
  { status, ...rest }: { readonly status?: number | undefined; readonly [key: string]: unknown },
): Extract<Played, { kind: 'message' }> {
  const all = { kind: 'message', message: { jsonrpc: '2.0', id, ...rest } } as const
  return status === undefined ? all : { ...all, status }
}

function errorOf(text: string) {
  return { error: { code: -32603, message: text } }
}

/** Returns the response to a request that the tape does not have: a tool error for a tool. */
function offTapeOf({ method, params }: RpcRequest) {
  const name = nameOf(method, params)
  const { _meta } = fieldsOf(params)
  const asked = name === '' ? method : `${method} of ${quoted(name)} with these arguments`
  const text = `off the tape: the tape has no further ${asked}`
  if (method !== 'tools/call') {
    const isUnknown = !NAMED.has(method)
    const error = { code: isUnknown ? -32601 : -32602, message: text }
    // Clients of several protocol versions go on with initialize.
    return { error, ...(method === 'server/discover' && { status: 400 }) }
  }
  const version = fieldsOf(_meta)[`${META}/protocolVersion`]
  const isModern = typeof version === 'string' && version >= FIRST_MODERN_PROTOCOL_VERSION
  const result = { content: [{ type: 'text', text }], isError: true }
  return { result: isModern ? { resultType: 'complete', ...result } : result }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** Returns the session whose requests are played; undefined for all. Throws a `TapeError`. */
function chosenSession(tape: Tape, asked: string | undefined): string | undefined {
  if (asked === 'all') return undefined
  const withCalls = tape.sessions.filter(({ calls }) => calls > 0)
  const known = withCalls
    .map(({ id, calls }) => `${id === '' ? 'none' : id} (${calls} calls)`)
    .slice(0, 10)
  if (asked === undefined) {
    if (withCalls.length <= 1) return undefined
    throw new TapeError(
      `found ${withCalls.length} sessions with calls; select one, or all, with --session: ${known.join(', ')}`,
    )
  }
  const found = tape.sessions.filter(({ id }) => id.startsWith(asked))
  if (found.length === 1) return found[0]!.id
  throw new TapeError(
    `found ${found.length} sessions that begin with ${quoted(asked)}: ${known.join(', ')}`,
  )
}
