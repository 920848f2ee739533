import { foreign, oneLine } from '../base/text/foreign-text.ts'
import { LruMap } from '../base/lru-map.ts'
import type { Origin, Outcome } from '../mcp/call.ts'
import { type EndedCall, shownClient, shownTool } from './call-line.ts'
import { redactText } from './redact.ts'
import type { ShownIds } from './shown-ids.ts'
import type { FaultEffect } from './telemetry.ts'

/** One error of a kind. */
export interface ErrorSample {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** One line, without secrets; undefined where nothing was said. */
  readonly message: string | undefined
  readonly id: string | number | undefined
  readonly client: string | undefined
  readonly session: string | undefined
  readonly trace: string | undefined
  readonly traceUrl: string | undefined
}

/** Errors that are alike in everything but their message. */
export interface ErrorKind {
  readonly method: string
  readonly tool: string | undefined
  readonly outcome: Outcome
  readonly origin: Origin
  readonly status: number | undefined
  readonly code: number | undefined
  /** The fault that took effect last. */
  readonly fault: FaultEffect | undefined
  readonly first: number
  readonly last: number
  readonly count: number
  /** A few of them, with different messages, newest first. */
  readonly samples: readonly ErrorSample[]
}

interface StoredKind extends ErrorKind {
  first: number
  last: number
  count: number
  samples: ErrorSample[]
}

const MAX_KINDS = 200
/** Bounds the statuses and codes of a tool, which servers choose: further ones are one kind. */
const MAX_OF_TOOL = 12
const MAX_SAMPLES = 4
/** The first errors of a kind are looked at, and then one in this time. */
const FIRST_ERRORS = 20
const EVERY_MS = 1_000
const MAX_MESSAGE = 200
const MAX_NAME = 128

/**
 * Keeps some errors of each kind, and counts the others: bounded in entries, in bytes and in the
 * texts that are cleaned in a second, whatever upstreams and clients send.
 */
export class ErrorSamples {
  readonly #ids: ShownIds
  readonly #messages: boolean
  readonly #kinds: LruMap<StoredKind>
  readonly #ofTool = new Map<string, number>()
  readonly #all = new Set<StoredKind>()
  #total = 0
  #dropped = 0

  constructor(ids: ShownIds, messages = true) {
    this.#ids = ids
    this.#messages = messages
    this.#kinds = new LruMap(MAX_KINDS, (_, kind) => this.#drop(kind))
  }

  /** The errors since the start. */
  get total(): number {
    return this.#total
  }

  /** The errors among them whose kind is no longer kept. */
  get dropped(): number {
    return this.#dropped
  }

  add(call: EndedCall, at: number): void {
    this.#total++
    const kind = this.#kindOf(call, at)
    kind.count++
    // Calls are not counted in the order in which they ended.
    kind.first = Math.min(kind.first, at)
    kind.last = Math.max(kind.last, at)
    if (kind.count > FIRST_ERRORS && at - kind.samples[0]!.at < EVERY_MS) return
    const message = this.#messages ? shownMessage(call.error?.message) : undefined
    const others = kind.samples.filter((each) => each.message !== message)
    kind.samples = [this.#sample(call, at, message), ...others].slice(0, MAX_SAMPLES)
  }

  /** Returns the kinds, the last seen first. */
  list(): readonly ErrorKind[] {
    return [...this.#all].sort((a, b) => b.last - a.last)
  }

  #kindOf(call: EndedCall, at: number): StoredKind {
    const { method, outcome, origin, error } = call
    const tool = shownTool(call)
    const named = tool ?? foreign(method, MAX_NAME)
    const fault = origin === 'injected' ? call.faults.at(-1) : undefined
    const end = `${outcome} ${origin} ${fault?.rule} ${fault?.fault} ${tool === undefined} ${named}`
    const exact = `${error?.status} ${error?.code} ${end}`
    const known = this.#kinds.get(exact)
    if (known !== undefined) return known
    const isCoded = (this.#ofTool.get(named) ?? 0) < MAX_OF_TOOL
    const key = isCoded ? exact : `others ${end}`
    const alike = this.#kinds.get(key)
    if (alike !== undefined) return alike
    const kind: StoredKind = {
      method: tool === undefined ? named : foreign(method, MAX_NAME),
      tool,
      outcome,
      origin,
      status: isCoded ? error?.status : undefined,
      code: isCoded ? error?.code : undefined,
      fault: fault && { rule: fault.rule, fault: fault.fault },
      first: at,
      last: at,
      count: 0,
      samples: [],
    }
    this.#ofTool.set(nameOf(kind), (this.#ofTool.get(nameOf(kind)) ?? 0) + 1)
    this.#all.add(kind)
    this.#kinds.set(key, kind)
    return kind
  }

  #sample(call: EndedCall, at: number, message: string | undefined): ErrorSample {
    return {
      at,
      message,
      id: this.#ids.id(call.id),
      client: shownClient(call.client),
      session: this.#ids.session(call.session),
      ...this.#ids.trace(call.span ?? call.trace),
    }
  }

  #drop(kind: StoredKind): void {
    this.#dropped += kind.count
    this.#all.delete(kind)
    const left = (this.#ofTool.get(nameOf(kind)) ?? 1) - 1
    if (left > 0) this.#ofTool.set(nameOf(kind), left)
    else this.#ofTool.delete(nameOf(kind))
  }
}

function nameOf({ tool, method }: ErrorKind): string {
  return tool ?? method
}

function shownMessage(message: string | undefined): string | undefined {
  return message === undefined ? undefined : oneLine(redactText(message), MAX_MESSAGE)
}
