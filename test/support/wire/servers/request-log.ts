import type { IncomingMessage } from 'node:http'
import { ofTheConnection, withoutChance } from '../recorded-fetch.ts'

interface RequestHead {
  readonly request: string
  readonly headers: Record<string, unknown>
}

/** Remembers the heads of the requests that a server received. */
export class RequestLog {
  #heads: RequestHead[] = []

  add({ method, url, headers }: IncomingMessage): void {
    const kept = Object.entries(headers).filter(([name]) => !ofTheConnection.has(name))
    this.#heads.push({ request: `${method} ${url}`, headers: Object.fromEntries(kept) })
  }

  /** Returns what came since the last time, for a client that addressed this URL. */
  take(addressed: string): RequestHead[] {
    const { host } = new URL(addressed)
    const heads = this.#heads.map((head) => ({
      request: head.request,
      headers: {
        ...head.headers,
        host: head.headers['host'] === host ? '<the one addressed>' : head.headers['host'],
        // Event ids go on counting from run to run.
        ...('last-event-id' in head.headers && { 'last-event-id': '<id>' }),
      },
    }))
    this.#heads = []
    return withoutChance(heads).toSorted((left, right) =>
      JSON.stringify(left) < JSON.stringify(right) ? -1 : 1,
    )
  }
}
