import { eventually } from '../support/eventually.ts'
import { openClient } from '../support/wire.ts'

/** A call that has ended. */
export interface SeenCall {
  readonly kind: 'ok' | 'tool_error' | 'failed'
  readonly text: string
  readonly ms: number
  /** The time of the call, by `performance.now()`. */
  readonly began: number
}

/** Clients that call a tool one time after another. */
export interface Calling {
  /** The calls in the order in which they ended. */
  readonly seen: readonly SeenCall[]
  /** Resolves when so many further calls have ended in this way. */
  next(kind: SeenCall['kind'], count: number): Promise<void>
  close(): Promise<void>
}

interface ToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
}

/** Lets clients of a real SDK call `search_docs` until they are closed. */
export async function callAlways(url: string, clients: number): Promise<Calling> {
  const seen: SeenCall[] = []
  const over = new AbortController()
  const connected = await Promise.all(
    Array.from({ length: clients }, () => openClient('v1')(`${url}/mcp`, 'streamableHttp')),
  )
  const callOnce = async (client: (typeof connected)[number]): Promise<void> => {
    const began = performance.now()
    const ended = (kind: SeenCall['kind'], text: string): void =>
      void seen.push({ kind, text, ms: performance.now() - began, began })
    try {
      const result = (await client.call('search_docs', { query: 'a' })) as ToolResult
      ended(result.isError === true ? 'tool_error' : 'ok', result.content[0]?.text ?? '')
    } catch (error) {
      ended('failed', String(error))
    }
  }
  const running = connected.map(async (client) => {
    while (!over.signal.aborted) await callOnce(client)
    await client.endSession()
    await client.close()
  })
  return {
    seen,
    next: async (kind, count) => {
      const from = seen.length
      const found = (): number => seen.slice(from).filter((call) => call.kind === kind).length
      await eventually(() =>
        found() >= count
          ? undefined
          : `${found()} of ${count} ${kind}: ${JSON.stringify(seen.slice(-3))}`,
      )
    },
    close: async () => {
      over.abort()
      await Promise.all(running)
    },
  }
}
