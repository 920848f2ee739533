import { setTimeout as wait } from 'node:timers/promises'
import { endingsOf } from '../../report/endings.ts'
import { alignedLines } from '../../report/text-table.ts'
import { integerText } from '#base'
import { type Loaded, demoLoad } from '../demo-load.ts'
import { FAILURES } from '../demo-tools.ts'
import { type Check, millis, type Phase, type PhaseResult } from '../phase.ts'
import { MISTAKEN, OUTAGE, SLOW_SEARCH } from '../rules-texts.ts'
import type { Screen } from '../screen.ts'
import type { Edit, Stage } from '../stage.ts'
import { type EndingCounts, endingCounts, noCounts, type OriginCounts } from '../counts.ts'
import { PlainClient } from '../plain-client.ts'

const DURATION_MS = 2_000
const BETWEEN_MS = 400
const PROBED = 'query_db'
const SEED = 21
const TITLE = 'The rules file is edited live, and the server has errors of its own'

/**
 * Edits the rules under load while the server has errors by its own script, and compares the labels
 * of the errors with the script.
 */
export const editedLive: Phase = {
  key: 'editedLive',
  title: TITLE,
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    const armed = await stage.edit(SLOW_SEARCH)
    const before = await endingsNow(stage)
    const truthBefore = stage.server.truth.copy()
    stage.server.failing = true
    let made: Edits | undefined
    const beside = async (): Promise<OriginCounts> => {
      made = await editing(stage, screen)
      return probeCounts(made)
    }
    const loaded = await demoLoad(stage, screen, { seed: SEED, durationMs: DURATION_MS, beside })
    const edits = made!
    stage.server.failing = false
    const seen: Seen = {
      ...loaded,
      edits,
      truth: stage.server.truth.since(truthBefore),
      squall: (await endingsNow(stage)).since(before),
    }
    const checks = checksOf(seen)
    screen.line()
    for (const line of report(loaded)) screen.line(`   ${line}`)
    for (const { ok, what } of checks) screen.check(ok, what)
    const live = checks.at(-1)!.ok
    const apart = checks.slice(0, -1).every(({ ok }) => ok)
    const endings = endingsOf(loaded.result)
    const own = endings.real + endings.unattributed
    const takenMs = Math.max(armed.takenMs, edits.outage.takenMs, edits.emptied.takenMs)
    return {
      numbers: {
        takenMs,
        counts: loaded.result.counts,
        indicators: loaded.result.indicators,
        errors: loaded.result.errors,
        script: seen.truth,
        squall: loaded.countedAll,
        rejectedAt: problemOf(edits.mistaken),
      },
      checks,
      summary: [
        {
          ok: apart,
          word: 'labelled',
          text: `${integerText(endings.injected + own)} errors: ${integerText(endings.injected)} injected, ${integerText(own)} real, ${apart ? 'as the server’s script wants' : 'but the server’s script differs'}`,
        },
        {
          ok: live,
          word: 'live',
          text: live
            ? `an edit is active after ${millis(takenMs)} ms; an invalid file changes nothing`
            : 'not every edit did what it should',
        },
      ],
      run: {
        column: 'edited live',
        about: `${TITLE}. Saved while it ran: a slow search, an outage of the database, an error, and nothing. Each is active up to ${millis(takenMs)} ms later.`,
        result: loaded.result,
        faults: loaded.counted.total().faults,
      },
    }
  },
}

interface Edits {
  readonly outage: Edit
  readonly mistaken: Edit
  readonly emptied: Edit
  /** The outcomes of calls to the database after each edit. */
  readonly during: Probed
  readonly stillDuring: Probed
  readonly after: Probed
}

/** The counts of the same calls by all observers. */
interface Seen extends Loaded {
  readonly edits: Edits
  readonly truth: EndingCounts
  readonly squall: EndingCounts
}

async function editing(stage: Stage, screen: Screen): Promise<Edits> {
  const { port } = stage.sidecar
  await wait(BETWEEN_MS)
  const outage = await stage.edit(OUTAGE)
  const during = await probe(port, PROBED)
  screen.line(
    `   saved: the database is down. ${during.marked} of ${during.calls} calls fail ${millis(outage.takenMs)} ms later`,
  )
  await wait(BETWEEN_MS)
  const mistaken = await stage.edit(MISTAKEN)
  const stillDuring = await probe(port, PROBED)
  const problem = problemOf(mistaken)
  screen.line(
    `   saved: an invalid file. rules.yaml:${problem?.line}:${problem?.column} ${problem?.hint ?? problem?.message}`,
  )
  await wait(BETWEEN_MS)
  const emptied = await stage.edit('')
  const after = await probe(port, PROBED)
  screen.line(
    `   saved: no rules. ${after.marked} of ${after.calls} calls carry a marker ${millis(emptied.takenMs)} ms later`,
  )
  return { outage, mistaken, emptied, during, stillDuring, after }
}

interface Problem {
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly hint?: string | undefined
  readonly message: string
}

function problemOf({ version }: Edit): Problem | undefined {
  if (version.kind !== 'rejected') return undefined
  return version.problems.flatMap(({ problems }) => problems)[0]
}

function checksOf({ result, counted, truth, squall, edits }: Seen): Check[] {
  const { during, stillDuring, after, mistaken } = edits
  const probes = probeCounts(edits).total()
  const endings = endingsOf(result)
  const script = truth.total()
  const own = script.calls - script.ok
  const { injected, real } = counted.total()
  const sameEndings = truth.tools.every((tool) =>
    FAILURES.every((kind) => truth.of(tool)[kind] === squall.of(tool)[kind]),
  )
  return [
    {
      what: 'real errors are those of the server’s script, by tool and kind',
      ok: sameEndings && real + probes.real === own && own > 0,
    },
    {
      what: 'injected errors carry the marker, and real ones do not',
      ok: endings.injected === injected && endings.real + endings.unattributed === real,
    },
    {
      what: 'edits take effect at once, and an invalid file changes nothing',
      ok:
        during.marked === during.calls &&
        stillDuring.marked === stillDuring.calls &&
        after.marked === 0 &&
        problemOf(mistaken) !== undefined,
    },
  ]
}

/** Counts the calls that were made beside the load. */
function probeCounts({ during, stillDuring, after }: Edits): OriginCounts {
  const counts = noCounts()
  for (const { calls, marked, failed } of [during, stillDuring, after]) {
    counts.add(PROBED, { calls, injected: marked, real: failed, faults: marked })
  }
  return counts
}

async function endingsNow({ sidecar }: Stage): Promise<EndingCounts> {
  return endingCounts(await sidecar.metrics())
}

function report({ counted }: Loaded): readonly string[] {
  const rows = counted.tools.map((tool) => {
    const { calls, injected, real, faults } = counted.of(tool)
    return [tool, ...[calls, injected, real, faults - injected].map(integerText)]
  })
  const head = ['', 'calls', 'injected errors', 'real errors', 'delayed']
  return alignedLines([head, ...rows], (column) => column > 0)
}

const CALLS = 10

/** The outcomes of some calls of one tool. */
interface Probed {
  readonly calls: number
  /** Failed with the marker of a fault. */
  readonly marked: number
  /** Failed without the marker. */
  readonly failed: number
}

/** Calls a tool a few times, one call after another. */
async function probe(port: number, tool: string): Promise<Probed> {
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
