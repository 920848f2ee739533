/** The head of a response as a client received it, without what differs from run to run. */
export interface RecordedHead {
  readonly request: string
  readonly status: number
  readonly headers: Record<string, string>
}

/** A fetch that remembers the heads of all responses. */
export interface RecordedFetch {
  readonly fetch: (input: string | URL, init?: RequestInit) => Promise<Response>
  /** The heads so far, in an order that does not depend on which response came first. */
  readonly heads: () => RecordedHead[]
  /** Resolves when every request made so far has a head or has failed. */
  readonly settled: () => Promise<void>
}

/** Headers that describe one connection: each side of a proxy has its own. */
export const ofTheConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date'])

/** Makes a recorder on top of the platform's own fetch. */
export function recordFetch(): RecordedFetch {
  const heads: RecordedHead[] = []
  const pending = new Set<Promise<Response>>()
  return {
    async fetch(input, init) {
      const answer = fetch(input, init)
      pending.add(answer)
      const response = await answer.finally(() => pending.delete(answer))
      const url = new URL(input)
      heads.push(
        withoutChance({
          request: `${init?.method ?? 'GET'} ${url.pathname}${url.search}`,
          status: response.status,
          headers: Object.fromEntries(
            [...response.headers].filter(([name]) => !ofTheConnection.has(name)),
          ),
        }),
      )
      return response
    },
    settled: async () => void (await Promise.allSettled(pending)),
    heads: () =>
      heads.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1)),
  }
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Replaces the session ids in a value, so that two runs can be compared. */
export function withoutChance<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replace(uuid, '<uuid>')) as T
}
