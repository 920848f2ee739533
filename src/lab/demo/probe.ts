import { PlainClient } from './plain-client.ts'

const CALLS = 10

/** The outcomes of some calls of one tool. */
export interface Probed {
  readonly calls: number
  /** Failed with the mark of a fault. */
  readonly marked: number
  /** Failed without one. */
  readonly failed: number
}

/** Calls a tool a few times, one call after another. */
export async function probe(port: number, tool: string): Promise<Probed> {
  const client = new PlainClient(port, 1)
  let marked = 0
  let failed = 0
  for (let id = 0; id < CALLS; id++) {
    const params = { name: tool, arguments: { sql: 'select 1' } }
    const response = await client.send({ id, method: 'tools/call', params })
    if (response.ending === 'ok') continue
    if (response.header('x-squall-fault') === undefined) failed++
    else marked++
  }
  client.close()
  return { calls: CALLS, marked, failed }
}
