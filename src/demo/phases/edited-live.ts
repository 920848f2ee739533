import type { RulesInForce } from '../../rules/rules-in-force.ts'
import { fanOut } from '../fan-out.ts'
import { count, millis, table } from '../format.ts'
import { BlameByTool } from '../injected.ts'
import { LiveRules } from '../live-rules.ts'
import type { Phase, PhaseResult } from '../phase.ts'
import { PlainClient } from '../plain-client.ts'
import type { Screen } from '../screen.ts'
import { seededCalls } from '../seeded-calls.ts'
import type { DemoSidecar, Stage } from '../stage.ts'
import type { Tally } from '../tally.ts'

const SEED = 21
const CALLS = 1_600
const CLIENTS = 8
const WIDTH = 8
const BUDGET_MS = 2_000

const RULES = `version: 1
seed: 42
rules:
  - name: flaky-db
    match: { tool: query_db }
    percent: 30
    faults: [abort: { toolError: connection to db-7 lost }]
  - name: slow-search
    match: { tool: 'search_*' }
    percent: 20
    faults: [delay: { fixed: 40ms, jitter: 10ms }]
`
const MISTAKE = RULES.replace('percent: 30', 'precent: 30')
const MORE = RULES.replace('percent: 30', 'percent: 100')

/** Edits a rules file while the app fails by itself, and tells whose errors are whose. */
export const editedLive: Phase = {
  key: 'editedLive',
  title: 'Faults by a rules file, edited live',
  word: 'surgical',
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    const live = await LiveRules.open()
    try {
      return await play(stage, screen, live)
    } finally {
      await live.remove()
    }
  },
}

async function play(stage: Stage, screen: Screen, live: LiveRules): Promise<PhaseResult> {
  // The app of this demo fails more often than any guard would bear.
  const flags = { rules: live.file, 'guard-error-rate': 'off' }
  const sidecar = await stage.addSidecar(flags)
  const rules = sidecar.running.rules!
  for (const line of RULES.trimEnd().split('\n')) screen.line(screen.paint('quiet', `   ${line}`))
  screen.line()
  const armedMs = await edited(live, rules, RULES)
  screen.line(
    `   saved; in force ${millis(armedMs)} ms later. The app fails by its own script as well:`,
  )
  screen.line()
  const { did, seen, blame } = await load(stage, sidecar, screen)
  const right = blame.tools.every((tool) => {
    const { calls, ok } = did.row(tool)
    const saw = seen.row(tool)
    const { injected, real } = blame.of(tool)
    return real === calls - ok && real + injected === saw.calls - saw.ok
  })
  for (const line of report(blame)) screen.line(`   ${line}`)
  screen.check(right, `injected + real = what clients saw; real = the app's script`)

  const inForce = rules.current
  await edited(live, rules, MISTAKE)
  const last = rules.last!.version
  const [problem] = last.kind === 'refused' ? last.problems.flatMap(({ problems }) => problems) : []
  const kept = rules.current === inForce
  screen.line(
    `   a slip in an edit:   rules.yaml:${problem?.line}:${problem?.column} ${problem?.hint ?? problem?.message}`,
  )
  screen.check(kept, 'the last good version stays in force')
  const allMs = await edited(live, rules, MORE)
  const all = await allFail(sidecar)
  screen.check(all, `percent: 100 saved; every query_db fails ${millis(allMs)} ms later`)
  await edited(live, rules, '')
  const none = await allSucceed(sidecar)
  screen.check(none, 'the file emptied; nothing is injected any more')
  const total = blame.tools.reduce((sum, tool) => sum + blame.of(tool).faults, 0)
  return {
    numbers: { armedMs, blame, faults: total, refusedAt: problem, allMs },
    checks: [
      { what: 'injected and real errors are told apart, to the call', ok: right },
      { what: 'an edit with a mistake changes nothing', ok: kept && problem !== undefined },
      { what: 'edits take effect at once, both ways', ok: all && none },
    ],
    summary: [
      `${count(total)} faults injected, none taken for the app's errors;`,
      `an edit is in force ${millis(armedMs)} ms after it was saved`,
    ],
  }
}

/** Saves a version; resolves with how many milliseconds later it was taken or refused. */
async function edited(live: LiveRules, rules: RulesInForce, text: string): Promise<number> {
  const before = rules.last
  await live.write(text)
  const savedAt = performance.now()
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (rules.last === before) setImmediate(look)
      else resolve()
    }
    look()
  })
  return performance.now() - savedAt
}

async function load(
  { app }: Stage,
  sidecar: DemoSidecar,
  screen: Screen,
): Promise<{ did: Tally; seen: Tally; blame: BlameByTool }> {
  const before = app.truth.copy()
  app.failing = true
  const { seen } = await fanOut(
    seededCalls(SEED, CALLS),
    { clients: CLIENTS, width: WIDTH, budgetMs: BUDGET_MS },
    () => new PlainClient(sidecar.port, WIDTH),
    (done) => screen.progress(done, CALLS, 'calls'),
  )
  app.failing = false
  const blame = new BlameByTool((await sidecar.admin('/metrics')).text)
  return { did: app.truth.since(before), seen, blame }
}

function report(blame: BlameByTool): readonly string[] {
  const rows = blame.tools.map((tool) => {
    const { calls, injected, real, faults } = blame.of(tool)
    return [tool, ...[calls, injected, real, faults - injected].map(count)]
  })
  return table([['', 'calls', 'injected errors', 'real errors', 'delayed'], ...rows])
}

async function allFail(sidecar: DemoSidecar): Promise<boolean> {
  return (await endings(sidecar)).every((ending) => ending === 'tool_error')
}

async function allSucceed(sidecar: DemoSidecar): Promise<boolean> {
  return (await endings(sidecar)).every((ending) => ending === 'ok')
}

async function endings({ port }: DemoSidecar): Promise<readonly string[]> {
  const client = new PlainClient(port, 1)
  const found: string[] = []
  for (let id = 0; id < 20; id++) {
    const params = { name: 'query_db', arguments: { sql: 'select 1' } }
    found.push((await client.send({ id, method: 'tools/call', params })).ending)
  }
  client.close()
  return found
}
