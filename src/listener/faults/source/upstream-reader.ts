import { ByteList } from '../../../base/byte-list.ts'
import type { MessageBudget } from '../../../base/byte-budget.ts'
import { headerValue, type ResponseHead } from '../../../http/headers.ts'
import { codingOf, decodeWhole } from '../../../http/content-coding.ts'
import { endingsOfJsonBody } from '../../../mcp/body-outcome.ts'
import type { RequestCall } from '../../../mcp/call.ts'
import { eachResponse } from '../../../mcp/event-message.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import { SseFramer } from '../../../mcp/sse-framer.ts'
import { isStream } from '../emit/injected-response.ts'

/** Longer responses are results: errors are short. */
const MAX_READ = 64 * 1024

/**
 * Keeps a short response that only faults of HTTP get. They may cut it, and then nothing else shows
 * whether the upstream executed the call.
 */
export class UpstreamReader {
  readonly #head: ResponseHead
  readonly #memory: MessageBudget
  readonly #pieces = new ByteList()
  #isUnread = false

  constructor(head: ResponseHead, memory: MessageBudget) {
    this.#head = head
    this.#memory = memory
  }

  data(chunk: Uint8Array): void {
    const { length } = chunk
    this.#isUnread ||= this.#pieces.size + length > MAX_READ || !this.#memory.reserve(length)
    if (this.#isUnread) this.#pieces.clear()
    else this.#pieces.push(chunk)
  }

  /** Returns the response to a call, once all bytes are here; undefined when it cannot be read. */
  responseTo(call: RequestCall): Message | undefined {
    const { headers, status } = this.#head
    const coding = codingOf(headerValue(headers, 'content-encoding'))
    const body = decodeWhole(coding, this.#pieces.joined(), MAX_READ)
    if (this.#isUnread || body === undefined) return undefined
    let found: Message | undefined
    if (isStream(this.#head)) {
      new SseFramer(MAX_READ).push(body, (frame) =>
        eachResponse(frame, (each) => {
          if (each.id === call.id) found ??= each
        }),
      )
    } else endingsOfJsonBody([call], status, body, (_, each) => (found = each))
    return found
  }
}
