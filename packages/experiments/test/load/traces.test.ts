import type { RequestListener } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { loadTable } from '../../src/report/load-table.ts'
import { reportMarkdown } from '../../src/report/markdown.ts'
import { writeReport } from '../../src/report/write-report.ts'
import { closeAll } from './closing.ts'
import { load } from './load-run.ts'
import { scriptedListener, startUpstream } from '../../../../test/support/wire.ts'

const open = closeAll(afterEach)

interface Call {
  readonly method: string
  readonly params?: { readonly _meta?: { readonly traceparent?: unknown } }
}

/** An upstream whose second response to a call is an error, and the traces of calls. */
async function traced() {
  let calls = 0
  const respond = scriptedListener(() => (++calls === 2 ? 'rpc error' : 'ok'))
  const traces: unknown[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const { method, params } = JSON.parse(text || '{}') as Call
      if (method === 'tools/call') traces.push(params?._meta?.traceparent)
    })
    respond(request, response)
  }
  const upstream = open(await startUpstream(listener))
  return { url: new URL(`${upstream.url}/mcp`), traces }
}

const work = { tools: ['work'], fanOut: 2, sequential: true }

test.each(['lean', 'sdk-v1', 'sdk-v2'] as const)(
  '%s: calls and retries of a task are spans of one trace',
  async (client) => {
    const { url, traces } = await traced()
    const resilience = { retries: 1 }
    const result = await load({ url, client, work, resilience, pace: { clients: 1, tasks: 2 } })
    expect(result.counts).toMatchObject({ calls: 4, retries: 1 })
    const ids = traces.map((each) => {
      const [, id, span] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(each)) ?? []
      return { id, span }
    })
    expect(new Set(ids.map(({ span }) => span)).size).toBe(5)
    const [first, , , , second] = ids.map(({ id }) => id)
    expect(ids.map(({ id }) => id)).toEqual([first, first, first, second, second])
    expect(second).not.toBe(first)
  },
)

test('a trace that the headers of the user name stays', async () => {
  const { url, traces } = await traced()
  const headers = { TraceParent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
  await load({ url, work, headers, pace: { clients: 1, tasks: 2 } })
  expect(traces).toEqual([undefined, undefined, undefined, undefined])
})

test('the trace of a failed call is in result, terminal and reports', async () => {
  const { url, traces } = await traced()
  const result = await load({ url, work, pace: { clients: 1, tasks: 2 } })
  const trace = String(traces[1]).slice(3, 35)
  expect(result.tools[0]!.errors).toMatchObject([{ samples: [{ message: 'it broke', trace }] }])
  const table = loadTable(result, false)
  expect(table).toContain(`\n  it broke, trace ${trace}\n`)
  const runs = [{ title: 'one', result }]
  for (const text of [reportMarkdown(runs), writeReport(runs)]) {
    expect(text).toContain(`it broke, trace ${trace}`)
  }
})

test('a hostile trace in the result of a shard is shown without control characters', async () => {
  const { url, traces } = await traced()
  const result = await load({ url, work, pace: { clients: 1, tasks: 2 } })
  const trace = String(traces[1]).slice(3, 35)
  const hostile = JSON.stringify(`\u001b[2J<b>${'x'.repeat(1000)}`)
  const read = JSON.parse(JSON.stringify(result).replaceAll(`"${trace}"`, hostile)) as typeof result
  const runs = [{ title: 'one', result: read }]
  for (const text of [loadTable(read, false), reportMarkdown(runs)]) {
    expect(text).not.toContain('\u001b')
    expect(text).not.toContain('x'.repeat(33))
  }
})
