const STALE_MS = 4_000
const AGAIN_MS = 3_000

/**
 * Listens to what Squall tells once a second, and goes on trying where that fails.
 *
 * @param {{ onData: (event: import('../api.ts').LiveEvent) => void, onState: (state: string) => void }} listener
 */
export function listen({ onData, onState }) {
  let events
  let heard = 0

  const open = () => {
    events = new EventSource('api/events')
    events.addEventListener('message', ({ data }) => {
      heard = Date.now()
      onState('live')
      onData(JSON.parse(data))
    })
    events.addEventListener('error', () => {
      onState('lost')
      // Refused: browsers try again by themselves only where a connection broke.
      if (events.readyState === EventSource.CLOSED) setTimeout(open, AGAIN_MS)
    })
  }

  setInterval(() => {
    if (heard > 0 && Date.now() - heard > STALE_MS) onState('lost')
  }, 1_000)
  // A hidden page needs no events, and its stream would occupy a connection that others could use.
  addEventListener('pagehide', () => events.close())
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) open()
  })
  open()
}
