import type { SidecarView } from './sidecar-view.ts'

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
