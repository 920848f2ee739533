import { duration, gateValue, integerText, latency } from '#base'
import type { LoadResult } from '../load/results/result.ts'
import { toolEndings } from '../report/endings.ts'
import { gateWords, nameOf, spaced } from '../report/gate-words.ts'
import type { EndCode, ExperimentResult, PhaseGate } from './experiment-result.ts'

/** What a person reads first: the result with its cause in words and numbers, and what to do. */
export interface Summary {
  readonly summary: string
  readonly advice: string
}

/** A result without its summary. */
export type Ended = Omit<ExperimentResult, keyof Summary>

/** Summarizes a run by fixed rules. */
export function summaryOf(result: Ended): Summary {
  const { verdict, code, stage, why, stages, proposals } = result
  if (verdict === 'passed') {
    const where = stages.length > 1 ? 'all stages up to' : 'the stage'
    const tightest = result.gates
      .filter(({ from, margin }) => from !== 'steadyState' && typeof margin?.ofLimit === 'number')
      // Of equal ones, what each stage needs says more than what ends it.
      .toReversed()
      .toSorted((a, b) => a.margin!.ofLimit! - b.margin!.ofLimit!)[0]
    const found = tightest === undefined ? 'no limit failed' : gateWords(tightest)
    const [wider] = proposals
    const again =
      'Run the plan again after each release. After three passes in a row, Squall proposes a wider plan.'
    return {
      summary: sentences(
        `Passed ${where} ${spaced(stages.at(-1)?.label ?? '')}: ${found}`,
        hiddenWords(stages.at(-1)?.load),
      ),
      advice: wider === undefined ? again : `Widen the plan: ${wider.write} (${wider.why}).`,
    }
  }
  const at = stage === null ? '' : /^\d/.test(stage) ? ` at ${spaced(stage)}` : ` in stage ${stage}`
  if (code === 'INTERRUPTED') {
    const summary = `Interrupted${at}: no verdict.`
    return { summary, advice: ADVICE.INTERRUPTED! }
  }
  const gate = code === 'SLO' || code === 'ABORT_CONDITION' ? failedGate(result) : undefined
  const load = stages.find(({ label }) => label === stage)?.load
  const cause = gate && load && causeOf(load, gate, result.before.load)
  return {
    summary: sentences(`${upper(verdict)}${at}: ${gate ? gateWords(gate) : why}`, cause?.summary),
    advice: cause?.advice ?? ADVICE[code!] ?? 'Fix this cause, then run the plan again.',
  }
}

/** What to do after an end whose cause the calls do not show, by its code. */
const ADVICE: Readonly<Partial<Record<EndCode, string>>> = {
  GUARD: 'Before the next run, fix what triggered the guard: real errors or a surge in calls.',
  TARGET_LOST: 'Check that the target runs, and that target.url is its address.',
  NOT_RESTARTED: 'Check what restarts the process, and how long it takes to become ready.',
  NOT_RECOVERED:
    'Find out what stays broken after the faults, such as exhausted pools, open circuit breakers or endless retries.',
  UNEXPECTED_ERROR: 'Handle these errors, or add them to expect.errors in the plan.',
  UNNOTICED:
    'Add an alert, or make it more sensitive: a real failure of this kind would go unnoticed.',
  INTERRUPTED: 'Run the plan to its end.',
}

/** The measures that failed calls explain. */
const FAILURES = new Set(['errors', 'success', 'tcsr', 'blast', 'availability'])

/** Returns the gate that ended a stage, with the value that ended it. */
function failedGate({ gates, stage, failedGate: ended, code }: Ended): PhaseGate | undefined {
  const from = code === 'SLO' ? 'slo' : 'abortOn'
  const own = gates.filter((gate) => gate.phase === stage && gate.from === from)
  if (ended === null) return own.find(({ ok }) => !ok)
  const found = own.find(({ gate }) => nameOf(gate) === ended.measure)
  return found && { ...found, measured: ended.measured }
}

function causeOf(
  load: LoadResult,
  gate: PhaseGate,
  before: LoadResult | undefined,
): Summary | undefined {
  const { agents } = load
  const measure = nameOf(gate.gate)
  if (/^(p\d|mean$|max$)/.test(measure)) return slowness(load, before, gate)
  if (!FAILURES.has(measure)) return undefined
  const tools = load.tools.map((tool) => ({ ...tool, ...toolEndings(tool) }))
  const worst = tools.toSorted((a, b) => b.calls - b.ok - (a.calls - a.ok))[0]
  if (worst === undefined || worst.calls === worst.ok) return undefined
  const { tool, calls, injected, real, retries } = worst
  const failed = integerText(calls - worst.ok)
  if (real > injected) {
    return {
      summary: `${integerText(real)} of the ${failed} failed calls of ${tool} are real errors`,
      advice: `Fix the real errors of ${tool} first; their messages are below.`,
    }
  }
  const isAgent = agents !== undefined && agents.compared === undefined
  if ((isAgent ? agents.tasks.retries : retries) === 0) {
    return {
      summary: `The ${isAgent ? 'agent' : 'client'} does not retry ${tool}`,
      advice: `Retry ${tool} with back-off if it may be called twice, or finish tasks without it${isAgent ? '' : ' (load.retries and load.degrade in the plan)'}.`,
    }
  }
  const made = isAgent ? 'Retries' : `${integerText(retries)} retries`
  return {
    summary: `${made} did not save ${failed} of ${integerText(calls)} calls of ${tool}`,
    advice: `Let tasks finish without ${tool}: retries alone are not enough at this share.`,
  }
}

/** Describes the slowest tool, without the number that the gate has already. */
function slowness(
  { tools }: LoadResult,
  before: LoadResult | undefined,
  { gate, measured }: PhaseGate,
): Summary | undefined {
  const measure = nameOf(gate)
  const took = (all: LoadResult['tools'] | undefined, name: string): number => {
    const summary = all?.find(({ tool }) => tool === name)?.latency.summary
    return summary?.[measure as keyof typeof summary] ?? 0
  }
  const slowest = tools
    .map(({ tool }) => tool)
    .toSorted((a, b) => took(tools, b) - took(tools, a))[0]
  if (slowest === undefined || took(tools, slowest) === 0) return undefined
  const old = took(before?.tools, slowest)
  const earlier = old === 0 ? '' : `; it was ${latency(old)} before the faults`
  const now = latency(took(tools, slowest))
  const isSaid = measured !== null && now === gateValue(gate, measured)
  const what = isSaid ? `The slowest tool is ${slowest}` : `${measure} of ${slowest} was ${now}`
  return {
    summary: `${what}${earlier}`,
    advice: `Give ${slowest} a timeout below the limit, and let tasks finish without it.`,
  }
}

/** Describes what retries hid. */
function hiddenWords(load: LoadResult | undefined): string | undefined {
  const injected = load?.faults.reduce((sum, { errors }) => sum + errors, 0) ?? 0
  const left = load?.errors.filter(({ origin }) => origin === 'injected') ?? []
  const hidden = injected - left.reduce((sum, { count }) => sum + count, 0)
  if (load === undefined || load.counts.retries === 0 || hidden <= 0) return undefined
  return `Retries hid ${integerText(hidden)} of ${integerText(injected)} injected errors`
}

/** Describes when the target left its limits, and when it was back. */
export function recoveryText({ mttdMs, mttrMs, steadyAfter }: Ended): string {
  if (mttdMs === null) return 'No limit failed after an injection.'
  const left = `The steady state was lost ${duration(mttdMs)} after the injection (MTTD)`
  if (mttrMs !== null) return `${left}, and restored after ${duration(mttrMs)} (MTTR).`
  return `${left}; ${steadyAfter === null ? 'the recovery was not measured' : 'not recovered in time'}.`
}

function sentences(...parts: readonly (string | undefined)[]): string {
  return parts.flatMap((part) => (part === undefined ? [] : `${part}.`)).join(' ')
}

function upper(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
