import { type AdminEndpoint, endpointText } from '#admin-api'
import { type Rates, type SidecarRates, ratesBetween } from './rates.ts'
import type { Fault, Snapshot } from './read-snapshot.ts'

export interface SidecarView {
  readonly address: string
  /** The state of the connection. */
  readonly link: 'connecting' | 'live' | 'lost'
  /** The reason why the connection is lost. */
  readonly problem: string
  readonly snapshot: Snapshot | undefined
  /** Undefined until two consecutive snapshots arrived. */
  readonly rates: SidecarRates | undefined
  /** The last faults, newest first. */
  readonly faults: readonly Fault[]
  /** One entry per second, the newest last; undefined where no snapshot arrived. */
  readonly trend: readonly (Rates | undefined)[]
}

const MAX_TREND = 240
const MAX_FAULTS = 50

/** Keeps the state of one sidecar. */
export class SidecarWatch {
  #view: SidecarView
  #updatedAt = 0

  constructor(endpoint: AdminEndpoint) {
    this.#view = {
      address: endpointText(endpoint),
      link: 'connecting',
      problem: '',
      snapshot: undefined,
      rates: undefined,
      faults: [],
      trend: [],
    }
  }

  get view(): SidecarView {
    return this.#view
  }

  /** Adds a snapshot; `now` is the local time in milliseconds. */
  update(snapshot: Snapshot, now: number): void {
    const { snapshot: before, link, faults: known } = this.#view
    // After a gap the counts are known, but not when they grew.
    const follows = link === 'live' && before !== undefined
    const rates = follows ? ratesBetween(before, snapshot, now - this.#updatedAt) : undefined
    const { whole, list } = snapshot.faults
    const faults = (whole ? list : [...list, ...known]).slice(0, MAX_FAULTS)
    this.#updatedAt = now
    this.#view = { ...this.#view, link: 'live', problem: '', snapshot, rates, faults }
  }

  setLost(problem: string): void {
    this.#view = { ...this.#view, link: 'lost', problem, rates: undefined }
  }

  /** Adds the rates of the last second to the trend. */
  tick(): void {
    const trend = [...this.#view.trend, this.#view.rates].slice(-MAX_TREND)
    this.#view = { ...this.#view, trend }
  }
}

/** The state of all sidecars at one moment. */
export interface Board {
  /** ISO 8601, in UTC, by the local clock. */
  readonly at: string
  readonly sidecars: readonly SidecarView[]
}
