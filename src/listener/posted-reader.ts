import { classifyBody, type PostClass, type PostedMessages } from '../mcp/classify.ts'
import { isExemptPath } from '../mcp/exempt-path.ts'
import type { HeadFacts } from '../mcp/head-facts.ts'
import { targetPath, type RequestHead } from '../mcp/http.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Telemetry, UnclassifiedReason } from '../telemetry/telemetry.ts'
import { codingOf, decodeWhole } from './content-coding.ts'

/** What a reader works with. */
export interface PostedReaderParts {
  readonly telemetry: Telemetry
  readonly logger: Logger
  /** Bodies up to this size are read. */
  readonly maxBody: number
  /** Fail, instead of passing on unread, when reading itself fails. */
  readonly strict: boolean
  /** Reads a request body as MCP. */
  readonly classify?: typeof classifyBody
}

/** Reads what is posted, and counts what looked like MCP and could not be read. */
export class PostedReader {
  readonly #parts: PostedReaderParts

  constructor(parts: PostedReaderParts) {
    this.#parts = parts
  }

  /** Reads a body as MCP; undefined when it is not, or cannot be read. */
  read(
    head: RequestHead,
    facts: HeadFacts,
    bytes: Uint8Array,
    isSsePost: boolean,
  ): PostedMessages | undefined {
    const { telemetry, logger, maxBody, strict, classify = classifyBody } = this.#parts
    const coding = codingOf(facts.coding)
    const plain = decodeWhole(coding, bytes, maxBody)
    if (plain === undefined) {
      this.unclassified(head, 'encoding')
      return undefined
    }
    let result: PostClass
    try {
      result = classify(facts, plain, isSsePost)
    } catch (error) {
      telemetry.unclassified('internal_error')
      if (strict) throw error
      logger.error({ err: error }, 'a request could not be read; it is passed on untouched')
      return undefined
    }
    if (result.kind === 'messages') return result
    this.unclassified(head, result.reason)
    return undefined
  }

  /** JSON that clients post to log in, or to probe, is no MCP that went unread. */
  unclassified(head: RequestHead, reason: UnclassifiedReason): void {
    if (!isExemptPath(targetPath(head.target))) this.#parts.telemetry.unclassified(reason)
  }
}
