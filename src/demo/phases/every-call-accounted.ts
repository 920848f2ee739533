import { fanOut } from '../fan-out.ts'
import { count, table } from '../format.ts'
import type { Phase, PhaseResult } from '../phase.ts'
import { PlainClient } from '../plain-client.ts'
import type { Screen } from '../screen.ts'
import { seededCalls } from '../seeded-calls.ts'
import type { Stage } from '../stage.ts'
import { ENDINGS, sameRow, type Tally, type TallyRow } from '../tally.ts'

const SEED = 8
const WIDTH = 8
const CLIENTS = 8
const CALLS = 6_000
// A machine that has much else to do makes fewer, and says how many.
const BUDGET_MS = 2_800

/** Lets the app fail by its script, and compares what it did with what Squall counted. */
export const everyCallAccounted: Phase = {
  key: 'everyCallAccounted',
  title: 'Every call accounted for',
  word: 'accounted',
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    const { app, sidecar } = stage
    screen.line(
      `   ${CLIENTS} clients, tasks of ${WIDTH} calls at once; the app fails by a script:`,
    )
    screen.line('   tool errors, JSON-RPC errors, HTTP 503, resets. Squall is not told.')
    const counted = await sidecar.tally()
    const did = app.truth.copy()
    app.failing = true
    const load = await fanOut(
      seededCalls(SEED, CALLS),
      { clients: CLIENTS, width: WIDTH, budgetMs: BUDGET_MS },
      () => new PlainClient(sidecar.port, WIDTH),
      (done) => screen.progress(done, CALLS, 'calls'),
    )
    app.failing = false
    const truth = app.truth.since(did)
    const squall = (await sidecar.tally()).since(counted)
    const wrong = toolsOf(truth, squall, load.seen).filter(
      (tool) => !allSame(tool, truth, squall, load.seen),
    )
    const total = truth.total()
    const failed = total.calls - total.ok
    const right = wrong.length === 0 && total.calls === load.sent
    screen.line()
    for (const line of report(screen, truth, squall, load.seen)) screen.line(`   ${line}`)
    const rate = load.sent / load.seconds
    screen.check(
      right,
      `the app's script, the clients and Squall's /metrics ${right ? 'agree' : 'DIFFER'}`,
    )
    screen.line(
      `     ${count(load.failedTasks)} of ${count(load.tasks)} tasks met a failure; ` +
        `${count(rate)} calls/s in this one thread`,
    )
    return {
      numbers: {
        calls: total.calls,
        failed,
        tasks: load.tasks,
        failedTasks: load.failedTasks,
        callsPerSecond: rate,
        script: truth,
        clients: load.seen,
        squall,
      },
      checks: [{ what: 'script, clients and /metrics agree', ok: right }],
      summary: [
        `${count(total.calls)} calls, ${count(failed)} failed in four ways:`,
        right ? 'Squall counted each one as what it was' : 'Squall counted some of them wrongly',
      ],
    }
  },
}

function toolsOf(...tallies: readonly Tally[]): string[] {
  return [...new Set(tallies.flatMap((tally) => tally.tools))]
}

function allSame(tool: string, truth: Tally, squall: Tally, seen: Tally): boolean {
  const row = truth.row(tool)
  return sameRow(row, squall.row(tool)) && sameRow(row, seen.row(tool))
}

/** A row for each tool; where numbers differ, a row for each side. */
function report(screen: Screen, truth: Tally, squall: Tally, seen: Tally): string[] {
  const marks: string[] = [screen.paint('quiet', 'same')]
  const rows = [['tool', 'calls', ...ENDINGS]]
  const add = (name: string, row: TallyRow, mark: string): void => {
    rows.push([name, ...[row.calls, ...ENDINGS.map((ending) => row[ending])].map(count)])
    marks.push(mark)
  }
  for (const tool of toolsOf(truth, squall, seen)) {
    const same = allSame(tool, truth, squall, seen)
    add(tool, truth.row(tool), screen.mark(same))
    if (same) continue
    add('  clients saw', seen.row(tool), '')
    add('  Squall says', squall.row(tool), '')
  }
  add('all', truth.total(), screen.mark(sameRow(truth.total(), squall.total())))
  return table(rows).map((line, i) => `${line}  ${marks[i]}`.trimEnd())
}
