// part: clients
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { record, served } from '../../packages/experiments/test/tape/recorded.ts'
import { closers } from '../support/closers.ts'
import { startProgram } from '../support/commands.ts'
import { startUpstream } from '../support/wire.ts'
import { play } from './python-play.ts'
import { systemTool } from './tools.ts'

const TIMES = 10
const open = closers()
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Runs a script with the packages of agents; returns what it printed. */
async function agents(name: string, args: readonly string[], input = ''): Promise<string> {
  const program = systemTool('agents-venv/bin/python', 'The agent frameworks')
  const run = startProgram([script(name), ...args], {}, { program, input })
  const { code, stdout, stderr } = await run.finished()
  expect(code, stderr).toBe(0)
  return stdout
}

/** Records what a client sees, and returns it with what it sees of the tape, time after time. */
async function tenTimes(url: string, see: (url: string) => Promise<unknown>) {
  let direct: unknown
  const path = await record(url, async (at) => (direct = await see(at)))
  const tape = open(await served(path))
  const played: unknown[] = []
  while (played.length < TIMES) played.push(await see(tape.url))
  return { direct, played, calls: tape.calls }
}

it('a tape of the Python SDK has the same responses, ten times of ten', async () => {
  const server = await startUpstream('everything', 'streamableHttp')
  open({ close: () => server.stop() })
  const { direct, played } = await tenTimes(server.url, async (url) => {
    // A call that the client gave up has no response on the tape. Headers are not on it.
    const { cancelled: _, heads: __, ...seen } = await play('everything', url)
    return seen
  })
  expect(direct).toMatchObject({ echo: { content: [{ text: 'Echo: grüße 🌊' }] } })
  expect(played).toEqual(Array.from({ length: TIMES }, () => direct))
})

it('a tape of FastMCP has the same responses, ten times of ten', async () => {
  const server = await startUpstream('everything', 'streamableHttp')
  open({ close: () => server.stop() })
  const { direct, played, calls } = await tenTimes(server.url, async (url): Promise<unknown> =>
    JSON.parse(await agents('tape_fastmcp.py', [url])),
  )
  expect(direct).toMatchObject({
    progress: [
      [1, 3],
      [2, 3],
    ],
  })
  expect(played).toEqual(Array.from({ length: TIMES }, () => direct))
  expect(calls.filter(({ from }) => from !== 'tape' && from !== 'default')).toEqual([])
})

it.each(['langchain', 'openai', 'pydantic'])(
  'each call of an agent of %s is on its tape, ten times of ten',
  async (framework) => {
    const server = await startUpstream('everything', 'streamableHttp')
    open({ close: () => server.stop() })
    const steps = [
      ['echo', { message: 'one' }],
      ['get-sum', { a: 2, b: 3 }],
      ['echo', { message: 'one' }],
    ]
    const run = (urls: readonly string[]): Promise<string> =>
      agents(
        'agent_frameworks.py',
        [framework],
        JSON.stringify(urls.map((url) => ({ url, steps }))),
      )
    const path = await record(server.url, (url) => run([url]))
    const tapes = []
    // Each with a server of its own: some frameworks open a session for each call.
    while (tapes.length < TIMES) tapes.push(open(await served(path, { session: 'all' })))
    await run(tapes.map(({ url }) => url))
    for (const { calls } of tapes) {
      const called = calls.filter(({ method }) => method === 'tools/call')
      expect(called.map(({ name, from }) => [name, from])).toEqual(
        steps.map(([name]) => [name, 'tape']),
      )
    }
  },
)
