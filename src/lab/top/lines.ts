import type { FeedOptions } from './feed.ts'
import { watchFleet } from './fleet.ts'
import { jsonLine } from './json-line.ts'
import type { Place } from './place.ts'
import { onStopSignal } from './stop-signals.ts'
import type { Output } from './terminal.ts'
import type { Board } from './board.ts'
import { differingDigests } from './combined.ts'
import { count, rate, sampledCalls, shortDigest } from './figures.ts'
import type { SidecarView } from './sidecar-view.ts'

const EVERY_MS = 1_000

/** Writes the state once a second, until it is stopped or the reader closes the pipe. */
export function topLines(
  places: readonly Place[],
  json: boolean,
  output: Output,
  options?: FeedOptions,
): Promise<number> {
  return new Promise((resolve) => {
    const fleet = watchFleet(places, () => undefined, options)
    const timer = setInterval(() => {
      fleet.tick()
      // A slow reader misses updates: nothing is queued for it.
      if (output.writableNeedDrain === true) return
      output.write(json ? jsonLine(fleet.board()) : plainLines(fleet.board()))
    }, EVERY_MS)
    const stop = (): void => {
      clearInterval(timer)
      letGo()
      fleet.close()
      resolve(0)
    }
    const letGo = onStopSignal(stop)
    output.on('error', stop)
  })
}

/** One line for each sidecar, for what is no terminal. */
function plainLines({ at, sidecars }: Board): string {
  const differing = differingDigests(sidecars).length > 0
  return sidecars.map((view) => `${at} ${view.address} ${said(view, differing)}\n`).join('')
}

function said(view: SidecarView, differing: boolean): string {
  const { link, problem, snapshot, rates } = view
  if (link === 'lost') return `LOST, trying again: ${problem}`
  if (snapshot === undefined) return 'connecting'
  const { armed, reasons, digest, generation } = snapshot
  const refused = snapshot.lastReload?.result === 'rejected' ? ' last-reload=REJECTED' : ''
  return [
    armed
      ? 'armed'
      : `DISARMED (${reasons.map(({ by, reason }) => `${by}: ${reason}`).join('; ')})`,
    `rules=${shortDigest(digest)} g${generation}${differing ? ' DIFFERENT' : ''}${refused}`,
    `calls/s=${rate(rates?.calls)}`,
    `injected/s=${rate(rates?.injected)}`,
    `real/s=${rate(rates?.real)}`,
    `sampled=${count(sampledCalls(view))}`,
  ].join(' ')
}
