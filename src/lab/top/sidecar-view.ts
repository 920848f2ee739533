import { type Place, placeText } from './place.ts'
import { ratesBetween, type Rates, type SidecarRates } from './rates.ts'
import type { Fault, Snapshot } from './read-snapshot.ts'

/** The state of the connection to a sidecar. */
export type Link = 'connecting' | 'live' | 'lost'

/** All that is known of one sidecar. */
export interface SidecarView {
  readonly address: string
  readonly link: Link
  /** Why it is not heard. */
  readonly problem: string
  /** The last snapshot. */
  readonly snapshot: Snapshot | undefined
  /** Undefined until two snapshots in a row were heard. */
  readonly rates: SidecarRates | undefined
  /** Its last faults, newest first. */
  readonly faults: readonly Fault[]
  /** One for each second, the newest last; undefined where nothing was heard. */
  readonly trend: readonly (Rates | undefined)[]
}

const MAX_TREND = 240
const MAX_FAULTS = 50

/** Keeps what is known of one sidecar. */
export class SidecarWatch {
  #view: SidecarView
  #heardAt = 0

  constructor(place: Place) {
    this.#view = {
      address: placeText(place),
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

  /** Takes a snapshot; `now` is the local time in milliseconds. */
  hear(snapshot: Snapshot, now: number): void {
    const { snapshot: before, link, faults: known } = this.#view
    // A gap says how much came about, but not when.
    const follows = link === 'live' && before !== undefined
    const rates = follows ? ratesBetween(before, snapshot, now - this.#heardAt) : undefined
    const { whole, list } = snapshot.faults
    const faults = (whole ? list : [...list, ...known]).slice(0, MAX_FAULTS)
    this.#heardAt = now
    this.#view = { ...this.#view, link: 'live', problem: '', snapshot, rates, faults }
  }

  lose(problem: string): void {
    this.#view = { ...this.#view, link: 'lost', problem, rates: undefined }
  }

  /** A second has gone by. */
  tick(): void {
    const trend = [...this.#view.trend, this.#view.rates].slice(-MAX_TREND)
    this.#view = { ...this.#view, trend }
  }
}
