import type { Policy } from '#rules'
import { writeFile } from 'node:fs/promises'
import { asInvoked, durationText, interruption, plain, plainText, shownUrl } from '#base'
import { join } from 'node:path'
import { readAndKeep } from '../experiment/read-plan.ts'
import { filesOf } from '../experiment/saved-plan.ts'
import { RejectedError, type Rejection } from '../experiment/rejection.ts'
import { newId } from '../experiment/run-experiment.ts'
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
import { placeText } from '../search/variation.ts'
import { INTERRUPTED, print, readVersion } from '#cli'
import { type OpenedSearch, openSearch, type SearchRequest } from './open-search.ts'
import { printRejected } from './read-plans.ts'
import { runPoint } from './search-point.ts'

const FAILED = 1

/** Searches the smallest magnitude that fails; returns the exit code. */
export async function searchLimit(request: SearchRequest): Promise<number> {
  const { search, earlier, policy } = await openSearch(request)
  const rejections = await rangeRejections(search, request, policy)
  if (rejections.length > 0) {
    await printRejected(rejections, request.json)
    return FAILED
  }
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  try {
    const onProgress = request.json
      ? () => {}
      : (text: string) => void process.stderr.write(`${plain(text)}\n`)
    const { signal: stop } = interrupt
    const result = await runSearch(request, search, {
      earlier,
      policy,
      stop,
      onProgress,
      resumes: true,
    })
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
async function rangeRejections(
  search: OpenedSearch,
  { production }: SearchRequest,
  policy: Policy | undefined,
): Promise<readonly Rejection[]> {
  if (search.rejections.length > 0) return search.rejections
  const rejection = searchRejection(search)
  if (rejection !== undefined) return [rejection]
  const { file } = search.kept
  for (const text of rangeTexts(search)) {
    const { read } = await readAndKeep(file, text, filesOf(search.kept), production, policy)
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

/** Makes the runs of a search, and stores what is known after each. */
export async function runSearch(
  request: SearchAccess,
  search: OpenedSearch,
  {
    earlier,
    policy,
    stop,
    onProgress,
    beforeRun,
    resumes = false,
  }: {
    readonly earlier?: PastSearch | undefined
    readonly policy: Policy | undefined
    readonly stop: AbortSignal
    /** Reports each run, and the limit after it. */
    readonly onProgress: (text: string) => void
    /** Rejects to end the search. */
    readonly beforeRun?: () => Promise<void>
    /** True to name the command that goes on. */
    readonly resumes?: boolean
  },
): Promise<SearchResult> {
  const { settings, variations, condition, kept } = search
  const { precision, confidence, runsAtOne } = settings
  const [first, second] = variations
  const limits = new LimitSearch(
    {
      ...spanOf(first!),
      maxFailedShare: condition.limit,
      errorRates: settings,
      precision,
      confidence,
      runsAtOne,
      ...(second !== undefined && { second: spanOf(second) }),
    },
    earlier?.result.points,
  )
  const id = earlier?.result.id ?? newId(new Date())
  const startedAt = earlier?.result.startedAt ?? new Date().toISOString()
  const runs = [...(earlier?.result.runs ?? [])]
  let calls = earlier?.result.calls ?? 0
  const began = performance.now()
  const { hold, steadyState, load } = search.plan.file
  let longestMs = hold + 2 * steadyState.for
  let mostCalls = ((load.rate ?? 0) * load.fanOut * longestMs) / 1000
  let made = 0
  const callsBefore = calls
  const keep = async (end: SearchEnd): Promise<SearchResult> => {
    const { failing, boundary } = limits
    const file = failing === undefined ? null : join(request.experiments, id, 'failing-plan.yaml')
    const result: SearchResult = {
      schema: SEARCH_SCHEMA,
      squall: readVersion(),
      id,
      name: search.plan.file.name,
      target: shownUrl(search.plan.target),
      startedAt,
      endedAt: new Date().toISOString(),
      settings,
      ...limits.result,
      ...(boundary !== undefined && { boundary }),
      points: limits.points,
      runs,
      calls,
      end,
      failingPlan: file,
    }
    await keepSearch(request.experiments, { result, kept })
    if (file !== null && failing !== undefined) {
      await writeFile(file, wholeText(search, failing))
    }
    return result
  }
  const command = `${asInvoked('squall experiment search --resume')} ${id}`
  const resume = resumes ? `; continue with ${command}` : ''
  onProgress(`search ${id}`)
  for (;;) {
    const place = limits.next()
    if (place === undefined) return keep({ code: 'FOUND', why: 'more runs would not help' })
    if (stop.aborted) return keep({ code: 'INTERRUPTED', why: `it was interrupted${resume}` })
    const used = { runs: made, ms: performance.now() - began, calls: calls - callsBefore }
    const over = budgetEnd(request, used, { longestMs, mostCalls }, resumes ? FLAGS : INPUTS)
    if (over !== undefined) return keep({ code: 'BUDGET', why: `${over}${resume}` })
    await beforeRun?.()
    const runBegan = performance.now()
    let point
    try {
      point = await runPoint(request, {
        text: runText(search, place, runs.length),
        kept,
        policy,
        stop,
        condition,
        decide: (batches) => limits.preview(batches),
      })
    } catch (error) {
      if (!(error instanceof RejectedError)) throw error
      const why = error.rejections.map(({ wrong, fix }) => `${wrong}; ${fix}`).join('; ')
      return keep({ code: error.rejections[0]!.code, why: `${why}${resume}` })
    }
    made++
    runs.push(point.id)
    calls += point.calls
    longestMs = Math.max(longestMs, performance.now() - runBegan)
    mostCalls = Math.max(mostCalls, point.calls)
    if (point.measurement !== undefined) limits.add(place, point.measurement)
    const result = await keep({ code: 'RUNNING', why: `unfinished${resume}` })
    const at = placeText(variations, place)
    onProgress(`run ${runs.length}: ${at}: ${point.text}. ${limitText(result, variations, place)}`)
    if (point.end !== undefined) return keep({ ...point.end, why: `${point.end.why}${resume}` })
  }
}

/** The names of the budget on the command line, and in the input of a tool. */
const FLAGS = { runs: '--max-runs', time: '--max-time', calls: '--max-calls' }
const INPUTS: typeof FLAGS = {
  runs: 'maxRuns',
  time: 'maxMinutes',
  calls: 'the maximum number of calls',
}

/** Returns the budget that another run would exceed; undefined when one more fits. */
function budgetEnd(
  { maxRuns, maxTimeMs, maxCalls }: SearchAccess,
  used: { readonly runs: number; readonly ms: number; readonly calls: number },
  { longestMs, mostCalls }: { readonly longestMs: number; readonly mostCalls: number },
  names: typeof FLAGS,
): string | undefined {
  if (used.runs >= maxRuns) return `${names.runs} ${maxRuns} is reached`
  if (used.ms + longestMs > maxTimeMs) {
    return `${names.time} ${durationText(maxTimeMs)} leaves no time for another run`
  }
  if (used.calls + mostCalls <= maxCalls) return undefined
  return `${names.calls} ${maxCalls} leaves no calls for another run`
}
