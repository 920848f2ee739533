import type { Board } from './board.ts'
import { differingDigests } from './combined.ts'
import { count, hits, rate, shortDigest } from './figures.ts'
import type { SidecarView } from './sidecar-view.ts'

/** One line for each sidecar, for what is no terminal. */
export function plainLines({ at, sidecars }: Board): string {
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
    `hits=${count(hits(view))}`,
  ].join(' ')
}
