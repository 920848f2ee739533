import { isModern } from '../../../mcp/protocol-version.ts'
import type { CallResponse, CallBounds, HeldStream, LoadClient } from './load-client.ts'
import type { LeanWire, Speaking } from './lean-wire.ts'
import { openSession } from './lean-handshake.ts'

/** A client with little in it, for volume: one POST per call, and no memory of the calls before. */
export class LeanClient implements LoadClient {
  readonly #wire: LeanWire
  readonly #protocolVersion: string
  #speaking: Promise<Speaking>

  private constructor(wire: LeanWire, speaking: Speaking) {
    this.#wire = wire
    this.#protocolVersion = speaking.protocolVersion
    this.#speaking = Promise.resolve(speaking)
  }

  /** Opens a session where the protocol version has them. */
  static async open(wire: LeanWire, protocolVersion: string): Promise<LeanClient> {
    if (isModern(protocolVersion))
      return new LeanClient(wire, { protocolVersion, session: undefined })
    const { speaking } = await openSession(wire, protocolVersion)
    return new LeanClient(wire, speaking)
  }

  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    bounds: CallBounds,
  ): Promise<CallResponse> {
    const current = this.#speaking
    const speaking = await current
    const params = { name: tool, arguments: args }
    const response = await this.#wire.ask('tools/call', params, speaking, bounds)
    const lost = response.kind === 'http' && response.code === 404 && speaking.session !== undefined
    // A dead session stays dead: the calls after this one get a new one, as the protocol wants it.
    if (lost && this.#speaking === current) this.#speaking = this.#reopen(speaking)
    return response
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
      return (await openSession(this.#wire, this.#protocolVersion)).speaking
    } catch {
      return before
    }
  }
}
