import { setMaxListeners } from 'node:events'
import type { HeldStream, LoadClient } from './load-client.ts'
import type { HeldStreams } from '../results/result.ts'

/** Streams that are held open while the load goes on. */
export class HeldStreamSet {
  readonly #asked: number
  readonly #streams: HeldStream[] = []
  readonly #closing = new AbortController()
  #refused = 0
  #lost = 0

  constructor(asked: number) {
    this.#asked = asked
    // Each stream listens to it.
    setMaxListeners(0, this.#closing.signal)
  }

  /** Opens them, shared out among the clients. */
  async open(clients: readonly LoadClient[]): Promise<void> {
    const { signal } = this.#closing
    const opening = Array.from({ length: this.#asked }, async (_, i) => {
      const stream = await clients[i % clients.length]!.hold(signal).catch(() => undefined)
      if (stream === undefined) {
        this.#refused++
        return
      }
      this.#streams.push(stream)
      void this.#watch(stream)
    })
    await Promise.all(opening)
  }

  async #watch(stream: HeldStream): Promise<void> {
    await stream.over
    if (!this.#closing.signal.aborted) this.#lost++
  }

  counts(): HeldStreams {
    const opened = this.#streams.length
    return { asked: this.#asked, opened, refused: this.#refused, lost: this.#lost }
  }

  close(): void {
    this.#closing.abort()
    for (const stream of this.#streams) stream.close()
  }
}
