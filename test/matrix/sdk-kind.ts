import { plainResult, wordOf } from './client-word.ts'
import { openClient, type MatrixClient } from './clients.ts'
import type { Kind, Meeting, Met } from './run-cells.ts'
import type { ClientId, Setting } from './settings.ts'
import { expectedOf } from './variant.ts'

const LONG = 10_000

/** The clients of the TypeScript SDKs. */
export function sdkKind(client: ClientId): Kind {
  return {
    expected: (variant, setting) => expectedOf(variant, setting, client),
    async meetAll(setting, meetings, { atOnce, patience }) {
      const met = new Map<string, Met>()
      const clients: MatrixClient[] = []
      const waiting = [...meetings]
      const work = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          met.set(next.cell, await meet(client, setting, next, { clients, patience }))
        }
      }
      await Promise.all(Array.from({ length: atOnce }, work))
      await Promise.all(clients.map((one) => one.close().catch(() => undefined)))
      return met
    },
  }
}

async function meet(
  id: ClientId,
  setting: Setting,
  { cell, variant, expected, origin, headers }: Meeting,
  { clients, patience }: { readonly clients: MatrixClient[]; readonly patience: number },
): Promise<Met> {
  const client = await openClient(id, { origin, setting, headers })
  clients.push(client)
  const call = (tool: string, n: number, expectedWord: string | undefined): Promise<string> =>
    wordOf(client.call(tool, n, expectedWord === 'timeout' ? patience : LONG), plainResult(n))
  if (variant.before === 'list') await client.list(LONG)
  if (variant.before === 'call') await client.call(cell, 1, LONG)
  const { complaints } = client
  const word =
    variant.method === 'tools/list'
      ? await wordOf(client.list(LONG), [cell])
      : await call(cell, 2, expected?.says)
  const next = await call('next', 3, expected?.next)
  const says = word === 'ok' && client.complaints > complaints ? 'ok, and complains' : word
  return { says, next }
}
