import type { FeedOptions } from './feed.ts'
import { watchFleet } from './fleet.ts'
import { jsonLine } from './json-line.ts'
import type { Place } from './place.ts'
import { plainLines } from './plain-lines.ts'
import { onStopSignal } from './stop-signals.ts'
import type { Output } from './terminal.ts'

const EVERY_MS = 1_000

/** Writes what there is once a second, until told to stop or nobody reads any more. */
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
      // Who reads slowly misses some: nothing piles up here.
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
