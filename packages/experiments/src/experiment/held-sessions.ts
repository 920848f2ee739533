import type { LoadTarget } from '../load/load-options.ts'
import type { HeldStream } from '../load/clients/load-client.ts'
import { openEndpoint } from '../load/clients/open-endpoint.ts'
import { LoadError } from '../load/load-error.ts'
import { closeClients } from '../load/run-load.ts'

export type HeldSessions = Awaited<ReturnType<typeof holdSessions>>

/**
 * Opens the sessions of `exhaust`, each with a stream if the server offers one. Sessions that the
 * server rejects are left out.
 */
export async function holdSessions(
  target: LoadTarget,
  version: string,
  count: number,
  signal: AbortSignal,
) {
  const endpoint = await openEndpoint(target, version).catch((error: unknown) => {
    if (error instanceof LoadError) return undefined
    throw error
  })
  if (endpoint === undefined) return { sessions: 0, streams: 0, close: async () => {} }
  const opened = await Promise.allSettled(Array.from({ length: count }, () => endpoint.connect()))
  const clients = opened.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  const held = await Promise.allSettled(clients.map((client) => client.hold(signal)))
  const streams = held.flatMap((each): readonly HeldStream[] =>
    each.status === 'fulfilled' && each.value !== undefined ? [each.value] : [],
  )
  return {
    sessions: clients.length,
    streams: streams.length,
    close: async () => {
      for (const stream of streams) stream.close()
      await closeClients(clients)
      await endpoint.close()
    },
  }
}
