import { AsyncLocalStorage } from 'node:async_hooks'
import { SseFramer } from '#protocol'
import { TASK_HEADER } from './load-client.ts'
import { markerIn, markersOf } from './markers.ts'

/** The HTTP responses to a call that an SDK made. */
export interface SeenResponse {
  /** The task that the request of the call names. */
  readonly task?: string | undefined
  status: number | undefined
  fromSquall: boolean
  retryAfterMs: number | undefined
  readonly markers: string[]
}

/** A `fetch` for an SDK that attributes responses to calls. */
export type MarkerFetch = ReturnType<typeof createMarkerFetch>

const MAX_EVENT = 4 * 1024 * 1024

/** Reads headers and SSE comments, which SDKs do not expose. */
export function createMarkerFetch() {
  const calls = new AsyncLocalStorage<SeenResponse>()
  return {
    /** Runs an action and records the responses to its requests. */
    watch: (seen: SeenResponse, work: () => Promise<unknown>) => calls.run(seen, work),
    fetch: async (...[input, init]: Parameters<typeof fetch>) => {
      const seen = calls.getStore()
      // The response to a cancellation is not the response to the call.
      const isCall = typeof init?.body === 'string' && init.body.includes('"tools/call"')
      if (seen === undefined || !isCall) return fetch(input, init)
      const headers = new Headers(init?.headers)
      if (seen.task !== undefined) headers.set(TASK_HEADER, seen.task)
      const response = await fetch(input, { ...init, headers })
      seen.status = response.status
      seen.fromSquall = response.headers.has('x-squall-error')
      const after = response.headers.get('retry-after')
      if (after !== null && /^\d{1,4}$/.test(after)) {
        seen.retryAfterMs = Math.min(30, Number(after)) * 1000
      }
      seen.markers.push(...markersOf(response.headers.get('x-squall-fault')))
      const type = response.headers.get('content-type') ?? ''
      // Squall adds no comments to encoded streams.
      const isRead = /^text\/event-stream/i.test(type) && !response.headers.has('content-encoding')
      return isRead ? watched(response, seen) : response
    },
  }
}

function watched(response: Response, seen: SeenResponse): Response {
  const { body, status, statusText, headers } = response
  if (body === null) return response
  const framer = new SseFramer(MAX_EVENT)
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      framer.push(chunk, ({ raw }) => {
        const marker = markerIn(raw)
        if (marker !== undefined) seen.markers.push(marker)
      })
      controller.enqueue(chunk)
    },
  })
  return new Response(body.pipeThrough(passing), { status, statusText, headers })
}
