import { setTimeout as wait } from 'node:timers/promises'
import { alignedLines, integerText, sameJson } from '#base'
import type { CallResponse } from '../../load/clients/load-client.ts'
import type { LoadResult } from '../../load/results/result.ts'
import { endingsOf, toolEndings } from '../../report/endings.ts'
import { type Counts, type Loaded, demoLoad } from '../demo-load.ts'
import { type Check, millis, type Phase, type PhaseResult } from '../phase.ts'
import { MISTAKEN, OUTAGE, SLOW_SEARCH } from '../rules-texts.ts'
import type { DemoScreen } from '../screen.ts'
import { bounds, type Edit, type Stage } from '../stage.ts'

const DURATION_MS = 2_000
const BETWEEN_MS = 400
const CALLS = 10
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
  async run(stage: Stage, screen: DemoScreen): Promise<PhaseResult> {
    const armed = await stage.edit(SLOW_SEARCH)
    stage.server.failing = true
    let made: Edits | undefined
    const beside = async (): Promise<Counts> => {
      made = await editing(stage, screen)
      return probeCounts(made)
    }
    const loaded = await demoLoad(stage, screen, { seed: SEED, durationMs: DURATION_MS, beside })
    const edits = made!
    stage.server.failing = false
    const script = scriptOf(stage)
    const checks = checksOf(loaded, edits, script)
    screen.line()
    for (const line of tableOf(loaded.result)) screen.line(`   ${line}`)
    for (const { ok, what } of checks) screen.check(ok, what)
    const takenMs = Math.max(armed.takenMs, edits.outage.takenMs, edits.emptied.takenMs)
    const { result, squall } = loaded
    const { counts, indicators, errors } = result
    const rejectedAt = problemOf(edits.mistaken)
    return {
      numbers: { takenMs, counts, indicators, errors, script, squall, rejectedAt },
      checks,
      summary: summaryOf(result, checks, takenMs),
      run: {
        column: 'edited live',
        about: `${TITLE}. Saved during the run: a slow search, a database outage, an invalid file, and no rules. Each edit took effect within ${millis(takenMs)} ms.`,
        result,
      },
    }
  },
}

function summaryOf(result: LoadResult, checks: readonly Check[], takenMs: number) {
  const { injected, real, unattributed } = endingsOf(result)
  const own = real + unattributed
  const live = checks.at(-1)!.ok
  const apart = checks.slice(0, -1).every(({ ok }) => ok)
  const asScript = apart ? 'as in the server’s script' : 'but not as in the server’s script'
  return [
    {
      ok: apart,
      word: 'labelled',
      text: `${integerText(injected + own)} errors: ${integerText(injected)} injected, ${integerText(own)} real, ${asScript}`,
    },
    {
      ok: live,
      word: 'live',
      text: live
        ? `an edit is active after ${millis(takenMs)} ms; an invalid file changes nothing`
        : 'not every edit had the expected effect',
    },
  ]
}

interface Edits {
  readonly outage: Edit
  readonly mistaken: Edit
  readonly emptied: Edit
  /** Calls of the database after each edit. */
  readonly during: readonly CallResponse[]
  readonly stillDuring: readonly CallResponse[]
  readonly after: readonly CallResponse[]
}

async function editing(stage: Stage, screen: DemoScreen): Promise<Edits> {
  await wait(BETWEEN_MS)
  const outage = await stage.edit(OUTAGE)
  const during = await probe(stage)
  screen.line(
    `   saved: the database is down. ${injectedOf(during)} of ${CALLS} calls fail ${millis(outage.takenMs)} ms later`,
  )
  await wait(BETWEEN_MS)
  const mistaken = await stage.edit(MISTAKEN)
  const stillDuring = await probe(stage)
  const problem = problemOf(mistaken)
  screen.line(
    `   saved: an invalid file. rules.yaml:${problem?.line}:${problem?.column} ${problem?.hint ?? problem?.message}`,
  )
  await wait(BETWEEN_MS)
  const emptied = await stage.edit('')
  const after = await probe(stage)
  screen.line(
    `   saved: no rules. ${injectedOf(after)} of ${CALLS} calls carry a marker ${millis(emptied.takenMs)} ms later`,
  )
  return { outage, mistaken, emptied, during, stillDuring, after }
}

/** Calls a tool a few times, one call after another. */
async function probe(stage: Stage): Promise<readonly CallResponse[]> {
  const endpoint = await stage.endpoint()
  const client = await endpoint.connect()
  const responses: CallResponse[] = []
  for (let i = 0; i < CALLS; i++) {
    responses.push(await client.call(PROBED, { sql: 'select 1' }, bounds()))
  }
  await endpoint.close()
  return responses
}

function injectedOf(responses: readonly CallResponse[]): number {
  return responses.filter(({ markers }) => markers.length > 0).length
}

function problemOf({ version }: Edit) {
  if (version.kind !== 'rejected') return undefined
  return version.problems.flatMap(({ problems }) => problems)[0]
}

type Errors = Readonly<Record<string, number>>

function checksOf({ result, squall, counted }: Loaded, edits: Edits, script: Errors): Check[] {
  const { during, stillDuring, after, mistaken } = edits
  const endings = endingsOf(result)
  const own = Object.values(script).reduce((sum, count) => sum + count, 0)
  return [
    {
      what: 'real errors match the server’s script, by tool and kind',
      ok: sameJson(realErrors(result, edits), script) && squall.real === own && own > 0,
    },
    {
      what: 'injected errors carry the marker, and real ones do not',
      ok:
        endings.injected === counted.injected &&
        endings.real + endings.unattributed === counted.real,
    },
    {
      what: 'edits take effect at once, and an invalid file changes nothing',
      ok:
        injectedOf(during) === CALLS &&
        injectedOf(stillDuring) === CALLS &&
        injectedOf(after) === 0 &&
        problemOf(mistaken) !== undefined,
    },
  ]
}

/** Returns the failures of the server by its script, by tool and kind. */
function scriptOf({ server }: Stage): Errors {
  const rows = [...server.truth].flatMap(([tool, endings]) =>
    Object.entries(endings).map(([kind, count]) => [`${tool} ${kind}`, count] as const),
  )
  return Object.fromEntries(rows.filter(([name]) => !name.endsWith(' ok')))
}

/** Returns the errors without a marker that clients saw, by tool and kind. */
function realErrors({ tools }: LoadResult, edits: Edits): Errors {
  const found: Record<string, number> = {}
  const add = (tool: string, kind: string, count: number): void => {
    found[`${tool} ${kind}`] = (found[`${tool} ${kind}`] ?? 0) + count
  }
  for (const { tool, errors } of tools) {
    for (const { kind, origin, count } of errors) {
      if (origin !== 'injected') add(tool, kind, count)
    }
  }
  for (const { kind } of realProbes(edits)) add(PROBED, kind, 1)
  return found
}

function realProbes({ during, stillDuring, after }: Edits): readonly CallResponse[] {
  const all = [...during, ...stillDuring, ...after]
  return all.filter(({ kind, markers }) => kind !== 'ok' && markers.length === 0)
}

/** Counts the calls that were made beside the load. */
function probeCounts(edits: Edits): Counts {
  const all = [...edits.during, ...edits.stillDuring, ...edits.after]
  return { calls: all.length, injected: injectedOf(all), real: realProbes(edits).length }
}

function tableOf({ tools, faults }: LoadResult): readonly string[] {
  const rows = tools.map((row) => {
    const { injected, real, unattributed } = toolEndings(row)
    const delayed = faults
      .filter(({ fault }) => fault === 'delay')
      .reduce((sum, { tools: seen }) => sum + (seen[row.tool] ?? 0), 0)
    return [row.tool, ...[row.calls, injected, real + unattributed, delayed].map(integerText)]
  })
  const head = ['', 'calls', 'injected errors', 'real errors', 'delayed']
  return alignedLines([head, ...rows], (column) => column > 0)
}
