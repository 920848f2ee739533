import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../load/results/histogram.ts'
import { findProtocolVersion } from '../load/clients/lean-handshake.ts'
import { LeanWire, type Speaking } from '../load/clients/lean-wire.ts'
import type { LoadTarget } from '../load/load-options.ts'
import type { Measured } from './gate.ts'

const PAUSE_MS = 200
const TIMEOUT_MS = 10_000
const WINDOW_MS = 5000

interface Asked {
  readonly at: number
  readonly ok: boolean
  readonly ms: number
}

/** Requests the list of tools periodically besides the load. */
export class Probe {
  readonly #wire: LeanWire
  readonly #over = new AbortController()
  readonly #running: Promise<void>
  #asked: Asked[] = []
  #since: number | undefined

  constructor(target: LoadTarget, version: string) {
    this.#wire = new LeanWire(target, version)
    this.#running = this.#run()
  }

  /** Returns the measures of the responses since a time; without a time, those of the last seconds. */
  measured(since?: number): Measured {
    const now = performance.now()
    const from = since ?? now - WINDOW_MS
    const asked = this.#asked.filter(({ at }) => at >= from)
    // A pending request is at least as slow as its age.
    const waits = this.#since === undefined ? 0 : now - this.#since
    const latency = new Histogram()
    for (const { ms } of asked) latency.add(ms)
    if (waits > PAUSE_MS) latency.add(waits)
    const good = asked.filter(({ ok }) => ok).length
    const none = asked.length === 0
    return {
      errors: none ? null : 1 - good / asked.length,
      success: none ? null : good / asked.length,
      p50: latency.quantile(0.5),
      p95: latency.quantile(0.95),
      p99: latency.quantile(0.99),
    }
  }

  async close(): Promise<void> {
    this.#over.abort()
    await this.#running
    await this.#wire.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#over
    let speaking: Speaking | undefined
    while (!signal.aborted) {
      this.#since = performance.now()
      try {
        speaking ??= (await findProtocolVersion(this.#wire, undefined)).speaking
        this.#since = performance.now()
        const bounds = { timeoutMs: TIMEOUT_MS, signal }
        const response = await this.#wire.ask('tools/list', {}, speaking, bounds)
        this.#note(response.kind === 'ok')
        if (response.kind !== 'ok') speaking = undefined
      } catch {
        this.#note(false)
      }
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
    }
  }

  #note(ok: boolean): void {
    const now = performance.now()
    if (this.#over.signal.aborted) return
    this.#asked.push({ at: now, ok, ms: now - (this.#since ?? now) })
    this.#since = undefined
    if (this.#asked.length > 20_000) this.#asked = this.#asked.slice(-10_000)
  }
}
