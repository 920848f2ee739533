import { indicatorsOf, noCounts, sumCounts } from '../../indicators/indicators.ts'
import { sumAgents } from './agent-result.ts'
import { ToolRecorder } from './tool-recorder.ts'
import { ErrorCounts } from './error-counts.ts'
import { FaultRecorder } from './fault-recorder.ts'
import { Histogram } from './histogram.ts'
import { LoadError } from '../load-error.ts'
import {
  type Arrivals,
  type HeldStreams,
  LOAD_SCHEMA,
  type LoadResult,
  type RunInfo,
  type ToolResult,
} from './result.ts'
import { evaluateSlo, parseSlo } from './slo.ts'
import { mergeTimelines } from './timeline-recorder.ts'
import { makeCheck } from '#checks/result'
import { isRecord, parsedJson } from '#base'

/** Merges results. Latencies are merged by bucket, not averaged. Throws a `LoadError`. */
export function mergeResults(results: readonly LoadResult[]): LoadResult {
  const first = firstOfWhole(results)
  const starts = results.map(({ run }) => Date.parse(run.startedAt))
  const start = Math.min(...starts)
  const counts = results.reduce((sum, each) => sumCounts(sum, each.counts), noCounts())
  const indicators = indicatorsOf(counts)
  const gates = [...new Set(results.flatMap(({ slo }) => slo.map(({ gate }) => gate)))]
  const errors = new ErrorCounts()
  const faults = new FaultRecorder()
  const histogram = new Histogram()
  for (const each of results) {
    errors.addAll(each.errors)
    histogram.addAll(each.latency.histogram)
    for (const fault of each.faults) faults.merge(fault)
  }
  const latency = histogram.latency()
  // The parts of one load saw the same sidecars: their counts overlap.
  const isWhole = results.every(
    ({ run, agents }) => run.shard === undefined && agents !== undefined,
  )
  const agents = isWhole ? sumAgents(results.flatMap((each) => each.agents ?? [])) : undefined
  const tools = mergedTools(results.flatMap((each) => each.tools))
  const merged: Omit<LoadResult, 'slo'> = {
    schema: first.schema,
    squall: first.squall,
    run: mergedRun(results, tools),
    counts,
    indicators,
    arrivals: sumOf(results.map((each) => each.arrivals)),
    errors: errors.list(),
    latency,
    tools,
    faults: faults.list(),
    timeline: mergeTimelines(
      results.map(({ timeline }) => timeline),
      starts.map((each) => each - start),
    ),
    held: sumOf(results.map((each) => each.held)),
    ...(agents !== undefined && { agents }),
  }
  return { ...merged, slo: evaluateSlo(gates.map(parseSlo), merged) }
}

/** Throws where shards are missing, or others are among them: gates would judge another load. */
function firstOfWhole(results: readonly LoadResult[]): LoadResult {
  const [first] = results
  if (first === undefined)
    throw new LoadError('CANNOT_MERGE', 'no results to merge', 'specify result files')
  const shards = results.flatMap(({ run }) => run.shard ?? [])
  const count = shards[0]?.count
  const different = new Set(results.map((each) => JSON.stringify(each))).size
  if (count === undefined && different < results.length)
    throw new LoadError('CANNOT_MERGE', 'two files have the same result', 'pass each result once')
  if (count === undefined) return first
  const indices = new Set(shards.map(({ index }) => index))
  const isOne = new Set(results.map(callsOf)).size === 1
  const isWhole = isOne && indices.size === count && shards.every((each) => each.count === count)
  if (isWhole && results.length === count) return first
  const seen = [...indices].sort((a, b) => a - b).join(', ')
  const fix = `pass each shard from 0/${count} to ${count - 1}/${count} once, with the same seed and options, and no other file`
  throw new LoadError(
    'CANNOT_MERGE',
    `the ${results.length} files with the shards ${seen} are not a complete set of shards of one load`,
    fix,
  )
}

/** Returns what decides the calls of a load, which its shards share. */
function callsOf({ run: { seed, model, options } }: LoadResult): string {
  return JSON.stringify({ seed, model, ...options, slo: undefined, headers: undefined })
}

/** Describes several runs as one. Tools that one of them called are not left out. */
function mergedRun(results: readonly LoadResult[], tools: readonly ToolResult[]): RunInfo {
  const runs = results.map(({ run }) => run)
  const { shard: _, leftOut: __, ...first } = runs[0]!
  const starts = runs.map(({ startedAt }) => Date.parse(startedAt))
  const start = Math.min(...starts)
  const missed = runs.flatMap(({ missedFaults }) => missedFaults ?? [])
  const leftOut = new Map(runs.flatMap((run) => run.leftOut ?? []).map((each) => [each.tool, each]))
  for (const { tool } of tools) leftOut.delete(tool)
  return {
    ...first,
    target: [...new Set(runs.map(({ target }) => target))].join(', '),
    startedAt: new Date(start).toISOString(),
    durationMs: Math.max(...runs.map(({ durationMs }, i) => starts[i]! + durationMs)) - start,
    complete: runs.every(({ complete }) => complete),
    mergedFrom: runs.reduce((sum, run) => sum + (run.mergedFrom ?? 1), 0),
    ...(missed.length > 0 && { missedFaults: missed.reduce((sum, count) => sum + count, 0) }),
    ...(leftOut.size > 0 && { leftOut: [...leftOut.values()] }),
  }
}

function mergedTools(parts: readonly ToolResult[]): ToolResult[] {
  const tools = new Map<string, ToolRecorder>()
  for (const part of parts) {
    const tool = tools.get(part.tool) ?? new ToolRecorder(part.tool)
    tools.set(part.tool, tool)
    tool.merge(part)
  }
  return [...tools.values()].map((tool) => tool.result()).sort((a, b) => (a.tool < b.tool ? -1 : 1))
}

function sumOf<Counts extends Arrivals | HeldStreams>(parts: readonly Counts[]): Counts {
  const sum: Record<string, number> = {}
  for (const part of parts) {
    for (const [name, count] of Object.entries(part)) sum[name] = (sum[name] ?? 0) + count
  }
  return sum as unknown as Counts
}

const fits = makeCheck(() => ({}))

/** Parses a result file. Throws a `LoadError`. */
export function parseResult(source: string, file: string): LoadResult {
  const value = parsedJson(source)
  if (value === undefined) throw invalid(file, 'is not valid JSON')
  const schema = isRecord(value) ? value['schema'] : undefined
  if (typeof schema === 'string' && schema !== LOAD_SCHEMA) {
    throw invalid(file, `has schema ${schema.slice(0, 40)}, expected ${LOAD_SCHEMA}`)
  }
  if (schema === undefined || !fits(value)) {
    throw invalid(file, 'is not a valid squall load result')
  }
  const result = value as LoadResult
  if (Number.isNaN(Date.parse(result.run.startedAt)))
    throw invalid(file, 'has an invalid run.startedAt')
  return result
}

function invalid(file: string, why: string): LoadError {
  return new LoadError('CANNOT_MERGE', `${file} ${why}`, 'pass files written by squall load --out')
}
