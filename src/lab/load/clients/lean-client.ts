import { isModern } from '../../../mcp/protocol-version.ts'
import type { CallAnswer, CallBounds, HeldStream, LoadClient } from './load-client.ts'
import type { LeanWire, Speaking } from './lean-wire.ts'
import { openSession } from './lean-handshake.ts'

/** A client with little in it, for volume: one POST per call, and no memory of the calls before. */
export class LeanClient implements LoadClient {
  readonly #wire: LeanWire
  readonly #revision: string
  #speaking: Promise<Speaking>

  private constructor(wire: LeanWire, speaking: Speaking) {
    this.#wire = wire
    this.#revision = speaking.revision
    this.#speaking = Promise.resolve(speaking)
  }

  /** Opens a session where the revision has them. */
  static async open(wire: LeanWire, revision: string): Promise<LeanClient> {
    if (isModern(revision)) return new LeanClient(wire, { revision, session: undefined })
    const { speaking } = await openSession(wire, revision)
    return new LeanClient(wire, speaking)
  }

  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    bounds: CallBounds,
  ): Promise<CallAnswer> {
    const current = this.#speaking
    const speaking = await current
    const params = { name: tool, arguments: args }
    const answer = await this.#wire.ask('tools/call', params, speaking, bounds)
    const lost = answer.kind === 'http' && answer.code === 404 && speaking.session !== undefined
    // A dead session stays dead: the calls after this one get a new one, as the protocol wants it.
    if (lost && this.#speaking === current) this.#speaking = this.#reopen(speaking)
    return answer
  }

  async hold(signal: AbortSignal): Promise<HeldStream | undefined> {
    return this.#wire.hold(await this.#speaking, signal)
  }

  async close(): Promise<void> {
    const speaking = await this.#speaking
    if (speaking.session !== undefined) await this.#wire.end(speaking)
  }

  async #reopen(before: Speaking): Promise<Speaking> {
    try {
      return (await openSession(this.#wire, this.#revision)).speaking
    } catch {
      return before
    }
  }
}
