import { type Rates, type SidecarRates, ratesBetween } from './rates.ts'
import type { Fault, Snapshot } from './read-snapshot.ts'

/** Where the admin port of a sidecar is. */
export interface Place {
  readonly host: string
  readonly port: number
}

/** The place as people write it. */
export function placeText({ host, port }: Place): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

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

/** All that there is to show at one moment. */
export interface Board {
  /** ISO 8601, in UTC, as the clock is here. */
  readonly at: string
  readonly sidecars: readonly SidecarView[]
}

/** The view that the user chose. */
export interface Look {
  readonly width: number
  readonly height: number
  /** The number of one sidecar that is shown alone, or 0 for all. */
  readonly focus: number
  readonly paused: boolean
  readonly help: boolean
  /** A question to be answered, or what became of the last change. */
  readonly notice: string
}

/** The sidecars that the look is at. */
export function shownSidecars(
  { sidecars }: Board,
  { focus }: Pick<Look, 'focus'>,
): readonly SidecarView[] {
  const one = sidecars[focus - 1]
  return one === undefined ? sidecars : [one]
}
