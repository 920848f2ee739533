import type { Call } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'

/** Older canaries are forgotten beyond this. */
const MAX_CANARIES = 100
/** The start of a character that JSON has escaped. */
const ESCAPE = '\\u'

/** Words that faults put into results, to find the messages that repeat them. */
export class Canaries {
  readonly #words = new Set<string>()

  /** True when there is a word to look for. */
  get isWatching(): boolean {
    return this.#words.size > 0
  }

  add(word: string): void {
    this.#words.add(word)
    if (this.#words.size > MAX_CANARIES) this.#words.delete(this.#words.values().next().value!)
  }

  /** Returns the messages of a decoded request body that contain a canary. */
  in(body: Uint8Array, { calls, others }: PostedMessages): readonly Call[] {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    const words = [...this.#words]
    const isPossible = bytes.includes(ESCAPE) || words.some((word) => bytes.includes(word))
    if (!isPossible) return []
    const elements = [JSON.parse(bytes.toString().replace(/^\ufeff/, '')) as unknown].flat()
    let call = 0
    let other = 0
    return elements.flatMap((element) => {
      // The other messages know how many calls precede them.
      const isOther = others[other]?.callsBefore === call
      const message: Call = isOther ? others[other++]! : calls[call++]!
      // Without the escapes of the client.
      const text = JSON.stringify(element)
      return words.some((word) => text.includes(word)) ? [message] : []
    })
  }
}
