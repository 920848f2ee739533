import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { endingAfter, type Fields, fieldsOf, isRecord, listOf, quoted, textOf } from '#base'
import { invalidFile } from '#cli'
import { isModern, type Message } from '#protocol'
import { redactMessage, type TapeLine } from '#sidecar'
import type { PlayFlags } from '../commands/tape.ts'
import type { CallResponse } from '../load/clients/load-client.ts'
import { keyOf, NAMED, nameOf, type Tape, type TapedCall, type TapeText } from './tape.ts'

/** Says how a tape is played. */
export interface PlayOptions extends Partial<PlayFlags> {
  /** Gives a call that the tape has less often its last response once more. */
  readonly repeats?: boolean
  /** Calls a live server in its place; undefined when that server is not to be asked. */
  readonly live?: ((tool: string, args: Fields) => Promise<CallResponse>) | undefined
  /** Called for each request, before its response. */
  readonly onCall?: ((call: PlayedCall) => void) | undefined
}

/** A request of a client, and where its response comes from. */
export interface PlayedCall {
  readonly method: string
  readonly name: string
  readonly params: unknown
  /** Equal for calls that get the responses of the same requests. */
  readonly key: string
  /** The number of equal calls before this one in its session. */
  readonly occurrence: number
  /** `last` is an earlier response once more, `default` needs no tape. */
  readonly from: 'tape' | 'last' | 'off' | 'live' | 'default'
  readonly recorded: TapedCall | undefined
}

/** A message for a client. */
export interface Played {
  readonly text: TapeText
  readonly status?: number | undefined
  /** True for the response to the request. */
  readonly ends: boolean
  /** The recorded end without a message; a client without HTTP gets an error instead. */
  readonly line?: TapeLine
}

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
/** Longer lines are results of tools. */
const MAX_ASKING = 256 * 1024

/** Plays a tape for any number of clients. */
export class Player {
  readonly tape: Tape
  readonly options: PlayOptions
  /** The recorded requests by key, and by tool, in order. */
  readonly #recorded = new Map<string, TapedCall[]>()
  readonly #responses = new EventEmitter().setMaxListeners(0)
  /** The state of clients without a session. */
  readonly shared: PlayedSession

  /** Throws a `UsageError` when the session is not clear. */
  constructor(tape: Tape, options: PlayOptions = {}) {
    this.tape = tape
    this.options = options
    const session = chosenSession(tape, options.session)
    for (const call of tape.calls) {
      const isOther = session !== undefined && call.session !== session && call.session !== ''
      // Of the calls without a response, only a stream can be played: it stayed open to the end.
      if (isOther || !(call.isDone || call.method === 'subscriptions/listen')) continue
      for (const key of [call.key, toolKey(call.method, call.name)]) {
        const equal = this.#recorded.get(key)
        if (equal === undefined) this.#recorded.set(key, [call])
        else equal.push(call)
      }
    }
    this.shared = new PlayedSession(this)
  }

  /** True where the recorded server had sessions. */
  get hasSessions(): boolean {
    return this.recorded('initialize').some(({ session }) => session !== '')
  }

  /** Returns the state of a new client; clients share one where calls of several sessions count. */
  session(): PlayedSession {
    return this.options.session === 'all' ? this.shared : new PlayedSession(this)
  }

  /** Takes the responses of a client to requests of the server; returns its own requests. */
  take(messages: readonly Message[]): readonly RpcRequest[] {
    return messages.flatMap((message) => {
      if (message.kind === 'request') return message
      if (message.kind !== 'notification') this.#responses.emit(`to ${message.id}`)
      return []
    })
  }

  /** Resolves when a client has responded to a request, or may not any more. */
  async waitFor(id: string, signal: AbortSignal): Promise<void> {
    const waiting = { signal: endingAfter(MAX_WAIT, signal) }
    await once(this.#responses, `to ${id}`, waiting).catch(() => undefined)
  }

  /** Returns the recorded requests with a key, or with that of a tool. */
  recorded(key: string): readonly TapedCall[] {
    return this.#recorded.get(key) ?? []
  }

  /** Returns the recorded requests for pages of a list. */
  pages(method: string): readonly TapedCall[] {
    return this.recorded(toolKey(method, '')).filter(({ isPage }) => isPage)
  }
}

/** The state of a client. */
export class PlayedSession {
  readonly #player: Player
  readonly #counts = new Map<string, number>()
  #capabilities: Fields = {}
  /** Sends messages that belong to no request. */
  #push: ((text: string) => void) | undefined
  #held: string[] = []

  constructor(player: Player) {
    this.#player = player
  }

  /** Opens the stream of the client; returns the function that closes it. */
  open(push: (text: string) => void): () => void {
    this.#push = push
    for (const text of this.#held.splice(0)) push(text)
    return () => {
      if (this.#push === push) this.#push = undefined
    }
  }

  /** Plays what the server sent for a request; ends early when the signal is aborted. */
  async *play(request: RpcRequest, signal: AbortSignal): AsyncGenerator<Played> {
    this.#learn(request)
    let found = this.#find(request)
    // The recorded result follows for a client that cannot respond.
    while (found.from === 'tape' && (await this.#asksTooMuch(found))) found = this.#find(request)
    this.#player.options.onCall?.(found)
    const { recorded, from } = found
    if (recorded !== undefined) {
      yield* this.#responses(request, recorded, signal)
      await this.#pushAfter(recorded)
    } else if (from === 'live') yield await this.#live(request)
    else yield from === 'default' ? responseTo(request, { result: {} }) : notOnTape(request)
  }

  /** Learns what the client can do. */
  #learn({ method, params }: RpcRequest): void {
    const { capabilities, _meta } = fieldsOf(params)
    const own = fieldsOf(_meta)[`${META}/clientCapabilities`]
    if (method === 'initialize' && isRecord(capabilities)) this.#capabilities = capabilities
    else if (isRecord(own)) this.#capabilities = own
  }

  /** Returns true for a result that asks for what the client cannot do. */
  async #asksTooMuch({ recorded }: PlayedCall): Promise<boolean> {
    const last = recorded?.responses.at(-1)
    if (last === undefined || last.end - last.start > MAX_ASKING) return false
    const { result } = (await this.#player.tape.read(last)) ?? {}
    const { resultType, inputRequests } = fieldsOf(result)
    if (resultType !== 'input_required') return false
    return listOf(Object.values(fieldsOf(inputRequests))).some(({ method }) => this.#lacks(method))
  }

  /** Counts a request, and returns where its response comes from. */
  #find({ method, params }: RpcRequest): PlayedCall {
    const { options, tape } = this.#player
    const name = nameOf(method, params)
    const key =
      options.match === 'tool' && NAMED.has(method)
        ? toolKey(method, name)
        : // The secrets of a new client are replaced as on the tape.
          keyOf(method, redactMessage({ method, params }, tape.redaction)['params'])
    const occurrence = this.#counts.get(key) ?? 0
    this.#counts.set(key, occurrence + 1)
    const asked = { method, name, params, key, occurrence }
    return { ...asked, ...this.#source(asked) }
  }

  #source({
    method,
    name,
    params,
    key,
    occurrence,
  }: Omit<PlayedCall, 'from' | 'recorded'>): Pick<PlayedCall, 'from' | 'recorded'> {
    const player = this.#player
    const { live, offTape, repeats } = player.options
    const { cursor } = fieldsOf(params)
    if (typeof cursor === 'string' && cursor.startsWith(CURSOR)) {
      const line = Number(cursor.slice(CURSOR.length))
      const recorded = player.pages(method).find((page) => page.line === line)
      return { recorded, from: recorded === undefined ? 'off' : 'tape' }
    }
    const ofName = player.recorded(toolKey(method, name))
    // A handshake has the version that the client asks for, where the tape has it.
    const equal = method === 'initialize' && ofName.length > 0 ? ofName : player.recorded(key)
    const last = equal.at(-1)
    const next = equal[occurrence] ?? (NAMED.has(method) ? undefined : last)
    if (next !== undefined) return { recorded: next, from: 'tape' }
    if (EMPTY.has(method)) return { recorded: undefined, from: 'default' }
    if (live !== undefined && method === 'tools/call') return { recorded: undefined, from: 'live' }
    const same = repeats === true || offTape === 'last' ? last : undefined
    const recorded = same ?? (offTape === 'last' ? ofName.at(-1) : undefined)
    return { recorded, from: recorded === undefined ? 'off' : 'last' }
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
        yield errorTo(request, `${quoted(tape.path)} has changed at line ${taped.line}`)
        return
      }
      if (line.long !== undefined) {
        const before = `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":`
        yield { text: [before, line.long, '}'], ends: true }
      } else if (line.method === undefined) yield this.#ended(request, call, line)
      else {
        const message = this.#message(line, request)
        const responded = message?.id && this.#player.waitFor(message.id, signal)
        if (message !== undefined) yield { text: [JSON.stringify(message)], ends: false }
        await responded
      }
    }
    // The recorded client left this stream, as the new one will.
    if (!call.isDone && !signal.aborted) await once(signal, 'abort')
  }

  /** Returns the end of a call. */
  #ended(request: RpcRequest, call: TapedCall, line: TapeLine): Played {
    const { failed, status, omitted, error, result, bytes = 0 } = line
    if (omitted !== undefined) {
      const why = omitted === 'too_large' ? `it has ${bytes} bytes` : 'it could not be read'
      return errorTo(request, `the recorded response is not on the tape: ${why}`)
    }
    if (failed !== undefined || (error === undefined && result === undefined)) {
      const why = failed ?? `status ${status ?? 200}`
      return { ...errorTo(request, `the recorded server failed: ${why}`), line }
    }
    if (error !== undefined) return responseTo(request, { error }, status)
    return responseTo(request, { result: this.#result(request, call, result) })
  }

  /** Returns a result with the cursors and ids of the new client. */
  #result({ method, id }: RpcRequest, { line, session }: TapedCall, result: unknown): unknown {
    if (!isRecord(result)) return result
    if (typeof result['nextCursor'] !== 'string' || !method.endsWith('/list')) {
      return withSubscription(result, id)
    }
    const { nextCursor: _, ...rest } = result
    const pages = this.#player.pages(method)
    const next = pages.find((page) => page.line > line && page.session === session)
    return next === undefined ? rest : { ...rest, nextCursor: `${CURSOR}${next.line}` }
  }

  /** Returns a message of the server for the client; undefined for one that it could not place. */
  #message({ method = '', id, params }: TapeLine, request?: RpcRequest) {
    const own = { jsonrpc: '2.0', id: undefined, method, params }
    // The recorded result follows for a client that cannot respond.
    if (id !== undefined) return this.#lacks(method) ? undefined : { ...own, id: randomUUID() }
    if (method === 'notifications/cancelled') return undefined
    if (!isRecord(params)) return own
    if (params['progressToken'] === undefined)
      return { ...own, params: withSubscription(params, request?.id) }
    const { progressToken } = fieldsOf(fieldsOf(request?.params)['_meta'])
    return progressToken === undefined
      ? undefined
      : { ...own, params: { ...params, progressToken } }
  }

  /** Sends what the server sent behind a call for no request. */
  async #pushAfter({ pushed = [] }: TapedCall): Promise<void> {
    for (const taped of pushed) {
      const line = await this.#player.tape.read(taped)
      const message = line?.method === undefined ? undefined : this.#message(line)
      if (message === undefined) continue
      const text = JSON.stringify(message)
      if (this.#push !== undefined) this.#push(text)
      else if (this.#held.length < MAX_HELD) this.#held.push(text)
    }
  }

  /** Returns true for a request that the client cannot respond to. */
  #lacks(method: unknown): boolean {
    const needs = typeof method === 'string' ? NEEDS[method] : undefined
    return needs !== undefined && this.#capabilities[needs] === undefined
  }

  async #live(request: RpcRequest): Promise<Played> {
    const { name, arguments: args } = fieldsOf(request.params)
    const response = await this.#player.options.live!(String(name), fieldsOf(args))
    const { result, kind, code, message } = response
    if (result !== undefined) return responseTo(request, { result })
    const why = [kind, code, message].filter((word) => word !== undefined).join(' ')
    return errorTo(request, `the live server failed: ${why}`)
  }
}

function toolKey(method: string, name: string): string {
  return `tool ${method} ${name}`
}

/** Returns a value with the id of the new client's subscription. */
function withSubscription(value: Fields, id: unknown): object {
  const meta = fieldsOf(value['_meta'])
  return meta[SUBSCRIPTION] === undefined
    ? value
    : { ...value, _meta: { ...meta, [SUBSCRIPTION]: id } }
}

function responseTo({ id }: RpcRequest, members: object, status?: number): Played {
  return { text: [JSON.stringify({ jsonrpc: '2.0', id, ...members })], status, ends: true }
}

function errorTo({ id }: RpcRequest, message: string): Played {
  return { text: errorText(-32603, message, id), ends: true }
}

/** Returns an error, by default of no request. */
export function errorText(code: number, message: string, id: unknown = null): TapeText {
  return [JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })]
}

/** Returns the response to a request that the tape does not have: a tool error for a tool. */
function notOnTape(request: RpcRequest): Played {
  const { method, params } = request
  const name = nameOf(method, params)
  const asked = name === '' ? method : `${method} of ${quoted(name)} with these arguments`
  const text = `off the tape: the tape has no further ${asked}`
  if (method !== 'tools/call') {
    const isUnknown = !NAMED.has(method)
    const error = { code: isUnknown ? -32601 : -32602, message: text }
    // Clients of several protocol versions go on with initialize.
    return responseTo(request, { error }, method === 'server/discover' ? 400 : undefined)
  }
  const version = textOf(fieldsOf(fieldsOf(params)['_meta'])[`${META}/protocolVersion`])
  const result = { content: [{ type: 'text', text }], isError: true }
  const resultType = isModern(version) ? 'complete' : undefined
  return responseTo(request, { result: { resultType, ...result } })
}

/** Returns the session whose requests are played; undefined for all. Throws a `UsageError`. */
function chosenSession({ path, sessions }: Tape, asked: string | undefined): string | undefined {
  if (asked === 'all') return undefined
  const withCalls = sessions.filter(({ calls }) => calls > 0)
  if (asked === undefined && withCalls.length <= 1) return undefined
  const found = sessions.filter(({ id }) => asked !== undefined && id.startsWith(asked))
  if (found.length === 1) return found[0]!.id
  const known = withCalls.map(({ id, calls }) => `${id === '' ? 'none' : id} (${calls} calls)`)
  const wrong =
    asked === undefined
      ? `${withCalls.length} sessions with calls; select one, or all, with --session`
      : `${found.length} sessions that begin with ${quoted(asked)}`
  const why = `found ${wrong}: ${known.slice(0, 10).join(', ')}`
  throw invalidFile(`the tape ${quoted(path)}`, why)
}
