import { type Board, type AdminEndpoint, SidecarWatch } from './sidecar-view.ts'
import { type FeedOptions, openFeed } from './feed.ts'

export interface Fleet {
  board(): Board
  /** Adds the rates of the last second to the trend. */
  tick(): void
  close(): void
}

/** Follows all sidecars; calls `changed` when the state of any sidecar changes. */
export function watchFleet(
  endpoints: readonly AdminEndpoint[],
  changed: () => void,
  options?: FeedOptions,
): Fleet {
  const watches = endpoints.map((endpoint) => new SidecarWatch(endpoint))
  const feeds = endpoints.map((endpoint, i) =>
    openFeed(
      endpoint,
      {
        onSnapshot: (snapshot) => {
          watches[i]!.update(snapshot, performance.now())
          changed()
        },
        onLost: (problem) => {
          watches[i]!.setLost(problem)
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
