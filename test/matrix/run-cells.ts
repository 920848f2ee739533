import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { AgentWatchOptions } from '../../src/agents/agent-watch.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { RESULTS } from '../../src/rules/select/rule-counts.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { metricValue, type RunningSidecar, startSidecar, startUpstream } from '../support/wire.ts'
import { familyIn } from '../telemetry/exposition.ts'
import type { Setting, SettingId } from './settings.ts'
import { fit, realOf, titleOf, verdictsOn, type Observed, type Variant } from './variant.ts'

/** The observations of a client for one variant in one setting. */
export interface Cell {
  readonly variant: Variant
  /** Through Squall, with the fault. */
  readonly injected: Observed
  /** The observations with a server that really fails, without Squall; undefined without one. */
  readonly real: Met | undefined
  /** The verdicts on the client, in the order of its calls. */
  readonly verdicts: readonly string[]
}

/** The observations that a client makes by itself. */
export type Met = Pick<Observed, 'says' | 'next'>

/** A client is to meet one variant at one address. */
export interface Meeting {
  /** The name of the tool that is called. */
  readonly cell: string
  readonly variant: Variant
  readonly expected: Observed | undefined
  readonly origin: string
  /** Headers of every request of the client. */
  readonly headers: Readonly<Record<string, string>>
}

/** The pace of the run. */
export interface Pace {
  /** So many clients. */
  readonly atOnce: number
  /** In milliseconds, where nothing is going to come: waiting for long shows nothing more. */
  readonly patience: number
}

/** A kind of client: what it is expected to report, and how it is made to. */
export interface Kind {
  readonly expected: (variant: Variant, setting: SettingId) => Observed | undefined
  /** True for a client that lists the tools after its first result, to check it by their schema. */
  readonly listsAfterResult: boolean
  /** Has clients meet what they are to meet; what they report, by cell. */
  readonly meetAll: (
    setting: Setting,
    meetings: readonly Meeting[],
    pace: Pace,
  ) => Promise<ReadonlyMap<string, Met>>
}

interface Plan {
  readonly id: string
  readonly variant: Variant
  readonly expected: Observed | undefined
  /** False for what is measured for the first time. */
  readonly isKnown: boolean
}

/**
 * On a machine that is busy, a client gives up before its call has come to where it is to fail.
 * What is not as expected is tried again with more time, and fails the test when it is so again.
 */
const PACES: readonly Pace[] = [
  { atOnce: 24, patience: 500 },
  { atOnce: 8, patience: 1500 },
  { atOnce: 2, patience: 3000 },
]

/** Runs all cells of a setting: a real server, Squall with a rule per cell, real clients. */
export async function measureCells(
  setting: Setting,
  kind: Kind,
  variants: readonly Variant[],
): Promise<readonly Cell[]> {
  const plans = variants.map((variant, index) => {
    const expected = kind.expected(variant, setting.id)
    return { id: `c${index}`, variant, expected, isKnown: expected !== undefined }
  })
  const host = await startUpstream('matrix', setting.id)
  const rules = rulesOf(PACES.flatMap((_, round) => plans.map((plan) => inRound(plan, round))))
  const squall = await startSidecar({ upstream: host.origin, rules, tasks: TASKS })
  const verdicts = verdictsByTool(squall)
  const run = async (some: readonly Plan[], pace: Pace): Promise<readonly Cell[]> => {
    const meetings = some.flatMap(({ id, variant, expected }) => {
      const common = { variant, expected }
      const through = { ...common, cell: id, origin: squall.url, headers: { 'x-cell': id } }
      const fails = realOf(variant, setting.id)
      // A call that the fault leaves unchanged cannot be compared with a failing one.
      if (fails === undefined || (expected?.rule ?? 'injected') !== 'injected') return [through]
      const headers = { 'x-cell': realCell(id), 'x-fail-by': fails }
      return [through, { ...common, cell: realCell(id), origin: host.origin, headers }]
    })
    const met = await kind.meetAll(setting, meetings, pace)
    const reported = await accounts(squall, some)
    squall.agents!.sweep(performance.now() + 2 * TASKS.window)
    return some.map(({ id, variant }) => ({
      variant,
      injected: {
        ...met.get(id)!,
        ran: host.ran(id),
        counted: variant.method !== undefined ? '–' : (reported.get(id) ?? 'open'),
        rule: resultOf(squall, id),
      },
      real: met.get(realCell(id)),
      verdicts: verdicts.get(id) ?? [],
    }))
  }
  try {
    const cells = new Map<Variant, Cell>()
    let doubtful: readonly Plan[] = plans
    for (const [round, pace] of PACES.entries()) {
      const met = await run(
        doubtful.map((plan) => inRound(plan, round)),
        pace,
      )
      for (const cell of met) cells.set(cell.variant, cell)
      doubtful = doubtful.flatMap((plan, index) => again(plan, met[index]!, kind) ?? [])
      if (doubtful.length === 0) break
    }
    const unsure = doubtful.filter(({ isKnown }) => !isKnown).map(({ variant }) => titleOf(variant))
    if (unsure.length > 0) throw new Error(`measured differently each time: ${unsure.join('; ')}`)
    return [...cells.values()]
  } finally {
    await squall.close()
    await host.close()
  }
}

/** The clients of a cell name it in each request: that is their task. */
const TASKS: AgentWatchOptions = {
  by: ['header'],
  header: 'x-cell',
  meta: undefined,
  window: 3_600_000,
  maxRetries: 3,
}

/** Collects the verdicts on the calls of each cell's tool. */
function verdictsByTool({ agents }: RunningSidecar): ReadonlyMap<string, readonly string[]> {
  const verdicts = new Map<string, string[]>()
  agents!.read(({ event, verdict }) => {
    const tool = event.facts.action.name ?? ''
    verdicts.set(tool, [...(verdicts.get(tool) ?? []), verdict])
  })
  return verdicts
}

function realCell(id: string): string {
  return `r-${id}`
}

/** The rule and the tool of a cell are its own in each round. */
function inRound(plan: Plan, round: number): Plan {
  return { ...plan, id: `${plan.id}-${round}` }
}

/**
 * Returns the plan to measure a cell again with more time; undefined when all is as expected. What
 * was never measured is expected to be the same a second time.
 */
function again(plan: Plan, cell: Cell, { listsAfterResult }: Kind): Plan | undefined {
  const { variant, expected, isKnown } = plan
  const { injected, real, verdicts } = cell
  if (!isKnown)
    return isDeepStrictEqual(injected, expected) ? undefined : { ...plan, expected: injected }
  const { says, next } = expected!
  const isFine =
    isDeepStrictEqual(injected, expected) &&
    (!real || isDeepStrictEqual(real, { says, next })) &&
    fit(verdicts, verdictsOn(variant, expected!, listsAfterResult))
  return isFine ? undefined : plan
}

/** A rule per cell. */
function rulesOf(plans: readonly Plan[]): readonly RuleSpec[] {
  const lines = plans.map(({ id, variant }) => {
    const { form, method, before } = variant
    const about = method === undefined ? `tool: ${id}` : `method: ${method}`
    return `  - name: ${id}
    match: { ${about}, headers: { x-cell: ${id} } }
    times: ${before === 'call' || method !== undefined ? 2 : 1}
    faults: [${form}]
`
  })
  const parsed = parseRules(`version: 1\nrules:\n${lines.join('')}`)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.file.rules
}

/** Returns the counted outcomes by tool, once every call that can end has ended. */
async function accounts(
  squall: RunningSidecar,
  plans: readonly Plan[],
): Promise<ReadonlyMap<string, string>> {
  const isOpen = ({ expected }: Plan): boolean => expected?.counted === 'open'
  const open = plans.filter(isOpen).length
  for (let tries = 0; tries < 100; tries++) {
    if (metricValue(await squall.metrics(), 'squall_in_flight_requests') <= open) break
    await sleep(15)
  }
  const lines = familyIn(await squall.metrics(), 'squall_calls_total')?.lines ?? []
  const reported = new Map<string, string>()
  for (const { labels, value } of lines) {
    const { tool, outcome, origin } = labels
    if (tool === undefined || tool === '') continue
    const word = `${outcome}/${origin}${value > 1 ? ` ×${value}` : ''}`
    reported.set(tool, [reported.get(tool) ?? [], word].flat().join(', '))
  }
  return reported
}

/** Returns the results counted for the rule of a cell. */
function resultOf(squall: RunningSidecar, name: string): string {
  const index = squall.faults!.rules.ruleSet.rules.findIndex((rule) => rule.name === name)
  const counts = squall.faults!.counts(index)
  const found = RESULTS.filter((result) => counts[result] > 0)
  return found.length === 0 ? 'not hit' : found.join(', ')
}
