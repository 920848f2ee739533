import type { Transport } from '../mcp/call.ts'
import { classifyBody, type PostClass, type PostedMessages } from '../mcp/classify.ts'
import { isExemptPath } from '../http/exempt-path.ts'
import { readingCost } from '../base/json/json-bounds.ts'
import type { HeadFacts } from '../mcp/request-facts.ts'
import { targetPath, type RequestHead } from '../http/headers.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { HEAVY, heavyWork } from '../base/event-loop.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Telemetry, UnclassifiedReason } from '../telemetry/telemetry.ts'
import { codingOf, decodedLimit, decodeWhole, MAX_RATIO } from '../http/content-coding.ts'

/** Configures a reader. */
export interface PostedReaderOptions {
  readonly telemetry: Telemetry
  readonly logger: Logger
  readonly memory: MemoryBudget
  /** The transport of a session whose responses come on its stream. */
  readonly streamTransport: Transport
  /** The largest body that is read. */
  readonly maxBody: number
  /**
   * Fails a request that could not be read because of an internal error, instead of forwarding it.
   */
  readonly strict: boolean
  /** Replaces `classifyBody` in tests. */
  readonly classify?: typeof classifyBody
}

/** A body that was read as MCP. */
export interface ReadBody {
  readonly posted: PostedMessages
  /** The decoded bytes. */
  readonly plain: Uint8Array
}

/** Reads posted bodies, and counts those that looked like MCP and could not be read. */
export class PostedReader {
  readonly #parts: PostedReaderOptions

  constructor(parts: PostedReaderOptions) {
    this.#parts = parts
  }

  /** Collects a body; passes null when it is not read. */
  collect(exchange: Exchange, facts: HeadFacts, done: (bytes: Uint8Array | null) => void): void {
    const { maxBody } = this.#parts
    exchange.body.collect(maxBody, (bytes, reason = 'too_large') => {
      if (bytes === null) {
        this.unclassified(exchange.head, reason)
        done(null)
        return
      }
      const work = bytes.length * (facts.coding === undefined ? 1 : MAX_RATIO)
      heavyWork.run(work, () => {
        // The client may have left meanwhile.
        if (work < HEAVY || !exchange.response.ended) done(bytes)
      })
    })
  }

  /** Reads a body as MCP; returns undefined when it is not MCP or cannot be read. */
  read(
    head: RequestHead,
    facts: HeadFacts,
    bytes: Uint8Array,
    isSsePost: boolean,
  ): ReadBody | undefined {
    const { memory, maxBody } = this.#parts
    const isCoded = facts.coding !== undefined
    const size = isCoded ? decodedLimit(bytes.length, maxBody) : bytes.length
    const cost = readingCost(size)
    if (!memory.take(cost)) {
      this.unclassified(head, 'memory')
      return undefined
    }
    try {
      return this.#read(head, facts, bytes, isSsePost)
    } finally {
      memory.give(cost)
    }
  }

  #read(
    head: RequestHead,
    facts: HeadFacts,
    bytes: Uint8Array,
    isSsePost: boolean,
  ): ReadBody | undefined {
    const { telemetry, logger, maxBody, strict, classify = classifyBody } = this.#parts
    const transport = isSsePost ? this.#parts.streamTransport : 'streamable-http'
    const coding = codingOf(facts.coding)
    const plain = decodeWhole(coding, bytes, maxBody)
    if (plain === undefined) {
      this.unclassified(head, 'encoding')
      return undefined
    }
    let result: PostClass
    try {
      result = classify(facts, plain, transport)
    } catch (error) {
      telemetry.unclassified('internal_error')
      if (strict) throw error
      logger.error({ err: error }, 'a request could not be read; it is passed on untouched')
      return undefined
    }
    if (result.kind === 'messages') return { posted: result, plain }
    this.unclassified(head, result.reason)
    return undefined
  }

  /** Counts the memory of arguments that faults may read; returns false when there is no room. */
  keeps(head: RequestHead, weight: number): boolean {
    if (this.#parts.memory.take(weight)) return true
    this.unclassified(head, 'memory')
    return false
  }

  /** Counts an unread request, except on paths for login and probes. */
  unclassified(head: RequestHead, reason: UnclassifiedReason): void {
    if (reason === 'memory') this.#parts.memory.pressure.request_unread++
    if (!isExemptPath(targetPath(head.target))) this.#parts.telemetry.unclassified(reason)
  }
}

/** Creates a listener that counts clients that leave before their request was read. */
export function unreadListener(telemetry: Telemetry): ExchangeListener {
  const nothing = (): void => undefined
  return {
    drained: nothing,
    tickEnded: nothing,
    dropped: nothing,
    gone: () => telemetry.http({ class: 'mcp', status: 0, origin: 'real' }),
  }
}
