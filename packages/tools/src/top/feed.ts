import { type AdminEndpoint, API, openEvents } from '#admin-api'
import { SidecarWatch } from './sidecar-view.ts'
import { readSnapshot } from './read-snapshot.ts'

export interface FeedOptions {
  /** The token for sidecars that require a read token. */
  readonly readToken?: string | undefined
  /** The longest wait for the next event. */
  readonly silenceMs?: number | undefined
  /** The wait before the first reconnect. */
  readonly retryMs?: number | undefined
}

const NO_RULES = 'reports no rules: not a Squall admin port, or Squall runs without --rules'

/** Follows all sidecars; calls `changed` when the state of any sidecar changes. */
export function watchFleet(
  endpoints: readonly AdminEndpoint[],
  changed: () => void,
  { readToken, silenceMs, retryMs }: FeedOptions = {},
) {
  const options = { client: 'top', missing: NO_RULES, silenceMs, retryMs }
  const watches = endpoints.map((endpoint) => new SidecarWatch(endpoint))
  const feeds = watches.map((watch) => {
    const onEvent = (data: string): void => {
      watch.update(readSnapshot(data), performance.now())
      changed()
    }
    const onLost = (problem: string): void => {
      watch.setLost(problem)
      changed()
    }
    const admin = { url: new URL(`http://${watch.view.address}`), readToken }
    return openEvents(admin, API.events.path, { onEvent, onLost }, options)
  })
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
