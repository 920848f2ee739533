import type { Call } from '../../mcp/call.ts'

/** Older canaries are forgotten beyond this. */
const MAX_CANARIES = 100

/** Words that faults put into results, to find the calls that repeat them. */
export class Canaries {
  readonly #words = new Set<string>()

  add(word: string): void {
    this.#words.add(word)
    if (this.#words.size > MAX_CANARIES) this.#words.delete(this.#words.values().next().value!)
  }

  /** Returns the calls of a request's body that contain a canary. */
  in(body: Uint8Array, calls: readonly Call[]): readonly Call[] {
    if (this.#words.size === 0) return []
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    const words = [...this.#words].filter((word) => bytes.includes(word))
    if (words.length === 0) return []
    return calls.filter(({ params }) => {
      const text = JSON.stringify(params) ?? ''
      return words.some((word) => text.includes(word))
    })
  }
}
