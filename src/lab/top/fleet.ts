import { type Board, type Place, SidecarWatch } from './sidecar-view.ts'
import { type FeedOptions, openFeed } from './feed.ts'

/** All sidecars that are looked at. */
export interface Fleet {
  board(): Board
  /** A second has gone by. */
  tick(): void
  close(): void
}

/** Hears all sidecars; `changed` is called when there is news of one. */
export function watchFleet(
  places: readonly Place[],
  changed: () => void,
  options?: FeedOptions,
): Fleet {
  const watches = places.map((place) => new SidecarWatch(place))
  const feeds = places.map((place, i) =>
    openFeed(
      place,
      {
        onSnapshot: (snapshot) => {
          watches[i]!.hear(snapshot, performance.now())
          changed()
        },
        onLost: (problem) => {
          watches[i]!.lose(problem)
          changed()
        },
      },
      options,
    ),
  )
  return {
    board: () => ({
      at: new Date().toISOString(),
      sidecars: watches.map(({ view }) => view),
    }),
    tick: () => {
      for (const watch of watches) watch.tick()
    },
    close: () => {
      for (const feed of feeds) feed.close()
    },
  }
}
