import { type AdminEndpoint, API, endpointText, openEvents } from '#admin-api'
import { SidecarWatch } from './sidecar-view.ts'
import { type Snapshot, readSnapshot } from './read-snapshot.ts'

export interface FeedListener {
  onSnapshot(snapshot: Snapshot): void
  /** Reports that there is no connection; the feed reconnects. */
  onLost(problem: string): void
}

export interface FeedOptions {
  /** The token for sidecars that require a read token. */
  readonly readToken?: string | undefined
  /** The longest wait for the next event. */
  readonly silenceMs?: number | undefined
  /** The wait before the first reconnect. */
  readonly retryMs?: number | undefined
}

const NO_RULES = 'reports no rules: not a Squall admin port, or Squall runs without --rules'

/** Reads the events of a sidecar until the feed is closed, and reconnects when the stream ends. */
export function openFeed(
  endpoint: AdminEndpoint,
  listener: FeedListener,
  { readToken, silenceMs, retryMs }: FeedOptions = {},
): { close(): void } {
  const admin = { url: new URL(`http://${endpointText(endpoint)}`), readToken }
  const onEvent = (data: string): void => listener.onSnapshot(readSnapshot(data))
  const onLost = (problem: string): void => listener.onLost(problem)
  const options = { client: 'top', missing: NO_RULES, silenceMs, retryMs }
  return openEvents(admin, API.events.path, { onEvent, onLost }, options)
}

/** Follows all sidecars; calls `changed` when the state of any sidecar changes. */
export function watchFleet(
  endpoints: readonly AdminEndpoint[],
  changed: () => void,
  options?: FeedOptions,
) {
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
