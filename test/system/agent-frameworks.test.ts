// part: clients
import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scriptedListener } from '../support/wire.ts'
import { type RuledSquall, startProgram, startSquall } from '../support/commands.ts'
import { systemTool } from './tools.ts'

const SCRIPT = fileURLToPath(new URL('./agent_frameworks.py', import.meta.url))

const RULES = `rules:
  - { name: once, match: { tool: flaky }, first: 1, faults: [abort: { toolError: try again }] }
  - { name: always, match: { tool: broken }, faults: [abort: { toolError: try again }] }
  - { name: lost, match: { tool: pay }, first: 1, faults: [abort: { toolError: no, at: response }] }
`
const TOOLS = ['flaky', 'broken', 'pay', 'other'].map((name) => ({
  name,
  inputSchema: { type: 'object', properties: { q: { type: 'number' } } },
}))

type Step = readonly [tool: string, args: object]
const again = (step: Step, times: number): readonly Step[] =>
  Array.from({ length: times }, () => step)

interface Script {
  /** The calls that the model asks for. */
  readonly steps: readonly Step[]
  /** The verdicts by tool. */
  readonly verdicts: readonly string[]
  readonly retries?: number
  /** The tools of the calls that reach the server. */
  readonly reach: readonly string[]
}

const SCRIPTS: Readonly<Record<string, Script>> = {
  retries: {
    steps: again(['flaky', { q: 1 }], 2),
    verdicts: ['flaky retried'],
    retries: 1,
    reach: ['flaky'],
  },
  'changes the arguments': {
    steps: [
      ['flaky', { q: 1 }],
      ['flaky', { q: 2 }],
    ],
    verdicts: ['flaky retried_changed'],
    reach: ['flaky'],
  },
  'takes another tool': {
    steps: [
      ['flaky', { q: 1 }],
      ['other', {}],
    ],
    verdicts: ['flaky switched_tool'],
    reach: ['other'],
  },
  'gives up': { steps: [['flaky', { q: 1 }]], verdicts: ['flaky gave_up'], reach: [] },
  'pays twice': {
    steps: again(['pay', { q: 1 }], 2),
    verdicts: ['pay duplicate_execution'],
    retries: 1,
    reach: ['pay', 'pay'],
  },
  'never ends': {
    steps: again(['broken', { q: 1 }], 9),
    verdicts: [
      ...Array.from({ length: 5 }, () => 'broken runaway'),
      ...Array.from({ length: 3 }, () => 'broken retried'),
      'broken gave_up',
    ],
    retries: 8,
    reach: [],
  },
}

/** A server with sessions, which clients end. */
function sessions(calls: string[]): RequestListener {
  const note = ({ tool }: { readonly tool: string }): number => calls.push(tool)
  const inner = scriptedListener(() => 'ok', note, TOOLS)
  return (req, res) => {
    if (req.method === 'DELETE') return void res.end()
    if (req.headers['mcp-session-id'] === undefined) res.setHeader('mcp-session-id', randomUUID())
    return inner(req, res)
  }
}

/** A script that is played: its Squall, and what came of it. */
interface Play {
  readonly name: string
  readonly ruled: RuledSquall
  /** The tools of the calls that reached the server. */
  readonly calls: readonly string[]
  readonly verdicts: readonly string[]
}

async function begin(name: string): Promise<Play> {
  const calls: string[] = []
  const ruled = await startSquall({ rules: RULES, upstream: sessions(calls) })
  const verdicts: string[] = []
  ruled.squall.running.agents!.watch.read(({ event, verdict }) => {
    verdicts.push(`${event.facts.action.name} ${verdict}`)
  })
  return { name, ruled, calls, verdicts }
}

/** Plays all scripts with one process, which takes seconds to start. */
async function playAll(framework: string): Promise<readonly Play[]> {
  const plays = await Promise.all(Object.keys(SCRIPTS).map(begin))
  const asked = plays.map(({ name, ruled }) => ({
    url: `http://127.0.0.1:${ruled.squall.port}/mcp`,
    steps: SCRIPTS[name]!.steps,
  }))
  const python = systemTool('agents-venv/bin/python', 'LangChain, OpenAI Agents or Pydantic AI')
  // Nothing but the servers of the test is reached.
  const env = { OPENAI_API_KEY: 'none', LANGSMITH_TRACING: 'false' }
  const args = ['-W', 'ignore', SCRIPT, framework]
  const how = { program: python, input: JSON.stringify(asked) }
  const { stdout, stderr } = await startProgram(args, env, how).finished()
  expect(stdout, stderr.slice(-4096)).toContain('all done')
  for (const { ruled } of plays) {
    ruled.squall.running.agents!.watch.sweep(performance.now() + 1e9)
  }
  return plays
}

describe.each(['langchain', 'openai', 'pydantic'])('an agent of %s', (framework) => {
  let plays: readonly Play[]
  beforeAll(async () => (plays = await playAll(framework)))
  afterAll(() => Promise.all(plays.map(({ ruled }) => ruled.close())))

  test.each(Object.entries(SCRIPTS))(
    'that %s gets its verdict',
    (name, { verdicts, retries = 0, reach }) => {
      const met = plays.find((play) => play.name === name)!
      expect([...met.verdicts].sort()).toEqual([...verdicts].sort())
      expect(met.ruled.squall.running.agents!.counts.retries).toBe(retries)
      expect(met.calls).toEqual(reach)
    },
  )
})
