import { Histogram } from '../load/results/histogram.ts'
import { findProtocolVersion } from '../load/clients/open-endpoint.ts'
import { LeanWire, type SessionState } from '../load/clients/lean-wire.ts'
import type { LoadTarget } from '../load/load-options.ts'
import { every } from './every.ts'
import type { Measured } from './gate.ts'

const PAUSE_MS = 200
const TIMEOUT_MS = 10_000
const WINDOW_MS = 5000

/** Requests the list of tools periodically during the load. */
export class Probe {
  readonly #wire: LeanWire
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #samples: { readonly at: number; readonly ok: boolean; readonly ms: number }[] = []
  #since: number | undefined
  #sessionState: SessionState | undefined

  constructor(target: LoadTarget, version: string) {
    this.#wire = new LeanWire(target, version)
    this.#running = every(PAUSE_MS, this.#closing.signal, () => this.#ask())
  }

  /** Returns the measures of the responses since a time, by default of the last seconds. */
  measured(since?: number): Measured {
    const now = performance.now()
    const from = since ?? now - WINDOW_MS
    const samples = this.#samples.filter(({ at }) => at >= from)
    // The age of a request in flight is a lower bound of its latency.
    const waits = this.#since === undefined ? 0 : now - this.#since
    const latency = new Histogram()
    for (const { ms } of samples) latency.add(ms)
    if (waits > PAUSE_MS) latency.add(waits)
    const good = samples.filter(({ ok }) => ok).length
    const none = samples.length === 0
    return {
      errors: none ? null : 1 - good / samples.length,
      success: none ? null : good / samples.length,
      p50: latency.quantile(0.5),
      p95: latency.quantile(0.95),
      p99: latency.quantile(0.99),
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#wire.close()
  }

  async #ask(): Promise<void> {
    this.#since = performance.now()
    try {
      this.#sessionState ??= (await findProtocolVersion(this.#wire, undefined)).sessionState
      this.#since = performance.now()
      const bounds = { timeoutMs: TIMEOUT_MS, signal: this.#closing.signal }
      const response = await this.#wire.ask('tools/list', {}, this.#sessionState, bounds)
      this.#note(response.kind === 'ok')
      if (response.kind !== 'ok') this.#sessionState = undefined
    } catch {
      this.#note(false)
    }
  }

  #note(ok: boolean): void {
    const now = performance.now()
    if (this.#closing.signal.aborted) return
    this.#samples.push({ at: now, ok, ms: now - (this.#since ?? now) })
    this.#since = undefined
    if (this.#samples.length > 20_000) this.#samples = this.#samples.slice(-10_000)
  }
}
