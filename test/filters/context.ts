import { UNLIMITED_CACHES } from '../../src/base/byte-budget.ts'
import { callerText } from '../../src/http/caller-identity.ts'
import type { Call } from '../../src/mcp/call.ts'
import type { FalseValue, FaultContext, Frame } from '../../src/filters/fault.ts'

/** A call of a tool. */
export const TOOL_CALL: Call = {
  id: 1,
  method: 'tools/call',
  name: 'search',
  params: {},
  transport: 'streamable-http',
  protocolVersion: '2025-06-18',
  progressToken: undefined,
}

/** A context that records what a fault did. Sleeps end at once unless they are rejected. */
export class Context implements FaultContext {
  readonly call: Call | undefined
  readonly signal: AbortSignal
  readonly session: string | undefined
  readonly client: FaultContext['client']
  readonly requestBytes: number
  readonly response: FaultContext['response']
  readonly group = this
  readonly sleeps: number[] = []
  /** The effects of the fault beyond its call. */
  readonly reached: string[] = []
  readonly falsified: FalseValue[] = []
  readonly task: object | undefined
  schema: unknown
  readonly outputSchema = (): unknown => this.schema
  limited = 0
  time = 0
  effects = 0
  readonly #draws: number[]
  readonly #headers: Readonly<Record<string, string>>
  readonly #memory: { value?: unknown }

  constructor(
    options: {
      call?: Call | undefined
      signal?: AbortSignal
      draws?: readonly number[]
      session?: string
      client?: FaultContext['client']
      headers?: Readonly<Record<string, string>>
      requestBytes?: number
      task?: object
      response?: FaultContext['response']
      /** Another context of the same rule, whose memory this one shares. */
      after?: Context
    } = {},
  ) {
    this.call = 'call' in options ? options.call : TOOL_CALL
    this.signal = options.signal ?? new AbortController().signal
    this.session = options.session
    this.client = options.client
    this.requestBytes = options.requestBytes ?? 0
    this.response = options.response
    this.task = options.task
    this.#headers = options.headers ?? {}
    this.#memory = options.after === undefined ? {} : options.after.#memory
    this.#draws = [...(options.draws ?? [])]
  }

  readonly random = (): number => this.#draws.shift() ?? 0.5
  readonly sleep = async (ms: number): Promise<void> => {
    this.signal.throwIfAborted()
    this.sleeps.push(ms)
    await Promise.resolve()
  }
  readonly cacheBudget = UNLIMITED_CACHES
  readonly reserve = (): undefined => undefined
  readonly nextLoop = (): Promise<void> => Promise.resolve()
  /** Never, unless a test says otherwise. */
  readonly overtaken = (): Promise<'last'> => Promise.resolve('last')

  readonly retired = (): Promise<void> => new Promise((resolve) => (this.retire = resolve))
  retire: () => void = () => undefined
  readonly now = (): number => this.time
  readonly header = (name: string): string | undefined => this.#headers[name]
  readonly headers = (name: string): readonly string[] =>
    this.#headers[name] === undefined ? [] : [this.#headers[name]]
  get caller(): string | undefined {
    const request = { target: '/mcp', headers: Object.entries(this.#headers).flat() }
    return callerText(request, this.session)
  }
  readonly cannot = (reason: string): void => void this.reached.push(reason)
  readonly memory = <Memory>(make: () => Memory): Memory =>
    (this.#memory.value ??= make()) as Memory
  readonly host = {
    server: undefined,
    closePort: (ms: number): void => void this.reached.push(`close ${ms}`),
    refuseConnections: (ms: number): void => void this.reached.push(`refuse ${ms}`),
    watchFor: (word: string): void => void this.reached.push(`watch ${word}`),
    falsified: (values: readonly FalseValue[]): boolean => this.falsified.push(...values) >= 0,
  }
  readonly withinLimit = (): void => {
    this.limited++
  }
  readonly injected = (): void => {
    this.effects++
  }
}

/** A frame by its kind; the text stands for its bytes. */
export function frame(kind: Frame['kind'], text: string, last = false): Frame {
  return { kind, raw: Buffer.from(text), message: undefined, last }
}

/** Frames as they come from the upstream. */
export async function* frames(...list: readonly Frame[]): AsyncGenerator<Frame> {
  for (const each of list) yield await Promise.resolve(each)
}

/** The texts of all frames. */
export async function texts(from: AsyncIterable<Frame>): Promise<string[]> {
  const list: string[] = []
  for await (const each of from) list.push(Buffer.from(each.raw).toString())
  return list
}
