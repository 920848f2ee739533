// part: slow
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { oneFault } from '../faults/one-fault.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Everything,
  type InteropClient,
  type OpenClient,
  openClient,
  outcome,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'
import { someOf } from '../support/rounds.ts'

const WEATHER = 'get-structured-content'
const opened = closers()

const clients: [string, OpenClient][] = [
  ['the SDK v1 client', openClient('v1')],
  ['the SDK v2 client', openClient('v2')],
]

interface Weather {
  readonly content: readonly { readonly text: string }[]
  readonly structuredContent: Record<string, unknown>
}

const cases = clients.flatMap(([name, open]) =>
  (['streamableHttp', 'sse'] as const).map((transport) => ({ name, open, transport })),
)

// Each client, and each transport.
describe.each(someOf(cases, 3))('$name meets over $transport', ({ open, transport }) => {
  let server: Everything

  beforeAll(async () => {
    server = await startUpstream('everything', transport)
  })
  afterAll(() => server.stop())

  async function client(
    fault: string,
    match = `match: { tool: ${WEATHER} }`,
  ): Promise<InteropClient> {
    const rules = [oneFault(fault, match)]
    const { url } = opened(await startSidecar({ upstream: server.origin, rules }))
    return opened(await open(new URL(new URL(server.url).pathname, url).href, transport))
  }

  async function names(of: InteropClient): Promise<readonly string[]> {
    const { tools } = (await of.listTools()) as { tools: { name: string }[] }
    return tools.map(({ name }) => name)
  }

  const ask = (of: InteropClient): Promise<unknown> => of.call(WEATHER, { location: 'Chicago' })

  it('drift that its check against the output schema finds', async () => {
    const found = await client('rewrite: { retype: { /temperature: string } }')
    let met: unknown
    // The upstream says early on that its tools have changed, whereupon a client forgets their
    // schemas.
    await eventually(async () => {
      await found.listTools()
      met = await outcome(ask(found))
      return 'error' in (met as object) ? undefined : 'the drift is not found'
    })
    expect(met).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('temperature') as string },
    })
  })

  it('drift that nothing finds, alike in structure and text', async () => {
    const drifted = await client('rewrite: { set: { /humidity: 100 } }')
    await drifted.listTools()
    const { content, structuredContent } = (await ask(drifted)) as Weather
    expect(structuredContent).toMatchObject({ temperature: 36, humidity: 100 })
    expect(JSON.parse(content[0]!.text)).toEqual(structuredContent)
  })

  it('arguments that the upstream turns down', async () => {
    const changed = await client('rewrite: { in: arguments, rename: { /location: city } }')
    expect(await ask(changed)).toMatchObject({ isError: true })
  })

  it('a partial result that it takes for whole', async () => {
    const partial = await client('truncate: { content: { chars: 5 } }')
    await partial.listTools()
    const { content, structuredContent } = (await ask(partial)) as Weather
    expect(structuredContent).toMatchObject({ temperature: 36, conditions: 'Light' })
    expect(JSON.parse(content[0]!.text)).toEqual(structuredContent)
  })

  it('a catalog without some tools, with one that is not there', async () => {
    const fault = 'catalog: { hide: "get-*", add: [{ name: ghost }] }'
    const cold = await client(fault, 'match: { method: tools/list }')
    const all = await names(cold)
    expect(all).toContain('echo')
    expect(all).toContain('ghost')
    expect(all.filter((name) => name.startsWith('get-'))).toEqual([])
    expect(await cold.call('ghost')).toMatchObject({ isError: true })
  })
})
