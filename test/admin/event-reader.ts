import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { TappedCall } from '../../src/admin/contract/api.ts'

/** One event of `/api/events`, as far as tests look at it. */
export interface ReadEvent {
  readonly at: string
  readonly state: { readonly armed: boolean; readonly lastReload: object | null }
  readonly rules: {
    readonly rules: readonly { readonly name: string; readonly sampled: number }[]
  }
  readonly tools: readonly { readonly tool: string; readonly calls: object }[]
  readonly latency: object
  readonly faults: {
    readonly whole: boolean
    readonly total: number
    readonly faults: readonly { readonly id?: unknown }[]
  }
}

/** A client that listens to a stream. */
export interface EventReader<Event = ReadEvent> {
  readonly status: number
  readonly response: IncomingMessage
  /** Everything that was read, as it came. */
  text(): string
  /** Resolves with the next event. */
  next(): Promise<Event>
  /** Resolves when the stream is over. */
  readonly ended: Promise<unknown>
  close(): void
}

/** Begins to listen to `/api/events`. */
export function readEvents(url: string): Promise<EventReader> {
  return readStream<ReadEvent>(`${url}/api/events`)
}

/** Begins to listen to `/api/tap`. */
export function readTap(
  url: string,
  query = '',
  path = '/api/tap',
): Promise<EventReader<TappedCall>> {
  return readStream<TappedCall>(`${url}${path}?${query}`)
}

async function readStream<Event>(url: string): Promise<EventReader<Event>> {
  const request = get(url, { agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const events: Event[] = []
  let text = ''
  let read = 0
  let wake = (): void => undefined
  response.setEncoding('utf8').on('data', (part: string) => {
    text += part
    for (let end = text.indexOf('\n\n', read); end >= 0; end = text.indexOf('\n\n', read)) {
      const event = text.slice(read, end)
      read = end + 2
      if (event.startsWith('data: ')) events.push(JSON.parse(event.slice(6)) as Event)
    }
    wake()
  })
  // A stream that is cut is over as well.
  response.on('error', () => undefined)
  request.on('error', () => undefined)
  return {
    status: response.statusCode ?? 0,
    response,
    text: () => text,
    next: async () => {
      for (;;) {
        const first = events.shift()
        if (first !== undefined) return first
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    ended: new Promise((resolve) => response.on('close', resolve)),
    close: () => void request.destroy(),
  }
}
