import { writeFile } from 'node:fs/promises'
import {
  asInvoked,
  durationText,
  interruption,
  plain,
  plainText,
  readVersion,
  shownUrl,
} from '#base'
import { join } from 'node:path'
import type { PlanFile } from '../experiment/plan-schema.ts'
import { readStored } from '../experiment/saved-plan.ts'
import { RejectedError, type Rejection } from '../experiment/rejection.ts'
import { newId } from '../experiment/run-id.ts'
import { rangeTexts, runText, searchRejection, spanOf, wholeText } from '../search/search-plan.ts'
import {
  type PastSearch,
  keepSearch,
  SEARCH_SCHEMA,
  type SearchEnd,
  type SearchResult,
} from '../search/search-result.ts'
import { limitText, searchText } from '../search/search-text.ts'
import { LimitSearch } from '../search/limit-search.ts'
import type { Batch } from '../search/sequential-test.ts'
import { placeText } from '../search/variation.ts'
import { INTERRUPTED, print } from '#cli'
import { type OpenedSearch, openSearch, type SearchRequest } from './open-search.ts'
import { printRejected } from './read-plans.ts'
import { runPoint } from './search-point.ts'

const FAILED = 1

/** Searches the smallest magnitude that fails; returns the exit code. */
export async function searchLimit(request: SearchRequest): Promise<number> {
  const { search, earlier } = await openSearch(request)
  const rejections = await rangeRejections(search)
  if (rejections.length > 0) {
    await printRejected(rejections, request.json)
    return FAILED
  }
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  try {
    const onProgress = (text: string): void => {
      if (!request.json) process.stderr.write(`${plain(text)}\n`)
    }
    const options = { earlier, stop: interrupt.signal, onProgress, resumes: true }
    const result = await runSearch(request, search, options)
    await print(
      request.json
        ? `${JSON.stringify(result)}\n`
        : plainText(searchText(result, search.variations)),
    )
    if (interrupt.signal.aborted) return INTERRUPTED
    return result.end.code === 'FOUND' ? 0 : FAILED
  } finally {
    interrupt.forget()
  }
}

/** Returns the reasons to reject the plan, as it is and at the strongest magnitudes. */
async function rangeRejections(search: OpenedSearch): Promise<readonly Rejection[]> {
  if (search.rejections.length > 0) return search.rejections
  const rejection = searchRejection(search)
  if (rejection !== undefined) return [rejection]
  for (const text of rangeTexts(search)) {
    const read = await readStored({ ...search.kept, text }, search.plan)
    if (read.ok && read.rejections.length === 0) continue
    if (read.ok) return read.rejections
    return read.problems.flatMap(({ problems }) =>
      problems.map(({ message, path }) => ({
        code: 'NOT_SEARCHABLE' as const,
        wrong: `with ${search.settings.vary.join(' and ')} the plan is invalid: ${path}: ${message}`,
        fix: 'change --vary or --until',
      })),
    )
  }
  return []
}

/** The access and the budget of a search. */
type SearchAccess = Omit<SearchRequest, 'search' | 'policy' | 'json'>

interface SearchOptions {
  readonly earlier?: PastSearch | undefined
  readonly stop: AbortSignal
  /** Reports each run, and the limit after it. */
  readonly onProgress: (text: string) => void
  /** Rejects to end the search. */
  readonly beforeRun?: () => Promise<void>
  /** True to name the command that goes on. */
  readonly resumes?: boolean
}

/** Makes the runs of a search, and stores what is known after each. */
export async function runSearch(
  request: SearchAccess,
  search: OpenedSearch,
  { earlier, stop, onProgress, beforeRun, resumes = false }: SearchOptions,
): Promise<SearchResult> {
  const { variations } = search
  const record = openRecord(request.experiments, search, earlier?.result)
  const { id, limits, runs } = record
  const budget = openBudget(request, search.plan.file, resumes ? FLAGS : INPUTS)
  const command = `${asInvoked('squall experiment search --resume')} ${id}`
  const resume = resumes ? `; continue with ${command}` : ''
  const endWith = ({ code, why }: SearchEnd) => record.keep({ code, why: `${why}${resume}` })
  onProgress(`search ${id}`)
  for (;;) {
    const place = limits.next()
    if (place === undefined) return record.keep({ code: 'FOUND', why: 'more runs would not help' })
    if (stop.aborted) return endWith({ code: 'INTERRUPTED', why: 'it was interrupted' })
    const over = budget.exceeded()
    if (over !== undefined) return endWith({ code: 'BUDGET', why: over })
    await beforeRun?.()
    const runBegan = performance.now()
    const text = runText(search, place, runs.length)
    const decide = (batches: readonly Batch[]) => limits.preview(batches)
    const point = await runPoint(request, search, { text, stop, decide }).catch(rejectedEnd)
    if (!('id' in point)) return endWith(point)
    budget.used(performance.now() - runBegan, point.calls)
    runs.push(point.id)
    record.calls += point.calls
    if (point.measurement !== undefined) limits.add(place, point.measurement)
    const result = await endWith({ code: 'RUNNING', why: 'unfinished' })
    const at = placeText(variations, place)
    onProgress(`run ${runs.length}: ${at}: ${point.text}. ${limitText(result, variations, place)}`)
    if (point.end !== undefined) return endWith(point.end)
  }
}

/** Returns the end of a search whose next run may not begin. */
function rejectedEnd(error: unknown): SearchEnd {
  if (!(error instanceof RejectedError)) throw error
  const why = error.rejections.map(({ wrong, fix }) => `${wrong}; ${fix}`).join('; ')
  return { code: error.rejections[0]!.code, why }
}

/** Returns what is known of a search; `keep` stores it. */
function openRecord(experiments: string, search: OpenedSearch, earlier: SearchResult | undefined) {
  const { settings, variations, condition, plan, kept } = search
  const [first, second] = variations
  const varied = { ...spanOf(first!), second: second && spanOf(second) }
  const asked = { ...settings, maxFailedShare: condition.limit }
  const limits = new LimitSearch({ ...varied, ...asked }, earlier?.points)
  const id = earlier?.id ?? newId(new Date())
  const startedAt = earlier?.startedAt ?? new Date().toISOString()
  const runs = [...(earlier?.runs ?? [])]
  const keep = async (end: SearchEnd): Promise<SearchResult> => {
    const { failing, boundary } = limits
    const file = failing === undefined ? null : join(experiments, id, 'failing-plan.yaml')
    const result: SearchResult = {
      schema: SEARCH_SCHEMA,
      squall: readVersion(),
      id,
      name: plan.file.name,
      target: shownUrl(plan.target),
      startedAt,
      endedAt: new Date().toISOString(),
      settings,
      ...limits.result,
      ...(boundary !== undefined && { boundary }),
      points: limits.points,
      runs,
      calls: record.calls,
      end,
      failingPlan: file,
    }
    await keepSearch(experiments, { result, kept })
    if (file !== null && failing !== undefined) await writeFile(file, wholeText(search, failing))
    return result
  }
  const record = { id, limits, runs, calls: earlier?.calls ?? 0, keep }
  return record
}

/** The names of the budget on the command line, and in the input of a tool. */
const FLAGS = { runs: '--max-runs', time: '--max-time', calls: '--max-calls' }
const INPUTS: typeof FLAGS = {
  runs: 'maxRuns',
  time: 'maxMinutes',
  calls: 'the maximum number of calls',
}

/** Counts what runs use, and estimates what another run needs: as much as the largest. */
function openBudget(
  { maxRuns, maxTimeMs, maxCalls }: SearchAccess,
  { hold, steadyState, load }: PlanFile,
  names: typeof FLAGS,
) {
  const began = performance.now()
  const sum = { runs: 0, calls: 0 }
  let longestMs = hold + 2 * steadyState.for
  let mostCalls = ((load.rate ?? 0) * longestMs) / 1000
  return {
    used(ms: number, calls: number): void {
      sum.runs++
      sum.calls += calls
      longestMs = Math.max(longestMs, ms)
      mostCalls = Math.max(mostCalls, calls)
    },
    /** Returns the budget that another run would exceed; undefined when one more fits. */
    exceeded(): string | undefined {
      if (sum.runs >= maxRuns) return `${names.runs} ${maxRuns} is reached`
      if (performance.now() - began + longestMs > maxTimeMs) {
        return `${names.time} ${durationText(maxTimeMs)} leaves no time for another run`
      }
      if (sum.calls + mostCalls <= maxCalls) return undefined
      return `${names.calls} ${maxCalls} leaves no calls for another run`
    },
  }
}
