import { quoted } from '#base'
import { type RejectedError, rejectionError } from '../experiment/rejection.ts'
import type { CallResponse } from '../load/clients/load-client.ts'
import { Histogram } from '../load/results/histogram.ts'
import type { LoadResult, ToolResult } from '../load/results/result.ts'

/** A way in which attempts failed without a fault. */
export interface Failure {
  readonly response: CallResponse
  readonly count: number
}

/** The behaviour of a tool without faults. */
export interface MeasuredTool {
  readonly attempts: number
  readonly failures: readonly Failure[]
  /** Milliseconds and their numbers, the lowest first. */
  readonly latencies: readonly (readonly [ms: number, count: number])[]
}

/** The behaviour of the tools during one load. */
export interface Measurement {
  /** The file or the run. */
  readonly source: string
  readonly startedAt: string
  readonly calls: number
  /** Retries, whose waits are part of the latencies. */
  readonly retries: number
  readonly tools: ReadonlyMap<string, MeasuredTool>
}

/** The least number of responses that is a distribution. */
const FEWEST = 30

/** Reads the behaviour of the named tools, or of all, from a load. Throws a `RejectedError`. */
export function measurementOf(
  source: string,
  load: LoadResult,
  names: readonly string[],
): Measurement {
  const foreign = load.errors.find(({ origin }) => origin !== 'real' && origin !== 'unattributed')
  if (load.faults.length > 0 || foreign !== undefined) {
    throw rejectionError(
      'NOT_MEASURED',
      `${source} was measured while faults were injected, or has calls that did not reach the server`,
      'specify a load result measured without faults',
    )
  }
  const wanted = names.length > 0 ? names : load.tools.map(({ tool }) => tool)
  const tools = wanted.map((name) => {
    const found = load.tools.find(({ tool }) => tool === name)
    if (found === undefined) throw tooFew(source, name, 0)
    return [name, measuredTool(source, found)] as const
  })
  const { calls, retries } = load.counts
  return { source, startedAt: load.run.startedAt, calls, retries, tools: new Map(tools) }
}

function measuredTool(source: string, result: ToolResult): MeasuredTool {
  const { tool, calls, retries, responded, correct, errors } = result
  const failures: Failure[] = errors.map(({ kind, code, count }) => ({
    response: { kind, markers: [], ...(code !== undefined && { code }) },
    count,
  }))
  const wrong = responded - correct
  if (wrong > 0) failures.push({ response: WRONG, count: wrong })
  // An attempt that was repeated failed in a way that the result does not name.
  if (retries > 0) failures.push({ response: RETRIED, count: retries })
  const timeouts = errors.filter(({ kind }) => kind === 'timeout')
  const unended = timeouts.reduce((sum, { count }) => sum + count, 0)
  const latencies = withoutLongest(valuesOf(source, result), unended)
  if (calls - unended < FEWEST || latencies.length === 0) {
    throw tooFew(source, tool, calls)
  }
  const counted = failures.reduce((sum, { count }) => sum + count, calls + retries)
  if (counted > Number.MAX_SAFE_INTEGER) {
    const fix = 'measure the tools again'
    throw rejectionError(
      'NOT_MEASURED',
      `${source} contains inconsistent counts for ${quoted(tool)}`,
      fix,
    )
  }
  return { attempts: calls + retries, failures, latencies }
}

function tooFew(source: string, tool: string, calls: number): RejectedError {
  return rejectionError(
    'NOT_MEASURED',
    `${source} contains ${calls} calls of ${quoted(tool)}; at least ${FEWEST} completed calls are required`,
    `measure it: squall load --target URL --tools ${tool.slice(0, 80)} --task-count 1000 --out result.json, then --results result.json`,
  )
}

/** A result without an error that fails a check. */
export const WRONG: CallResponse = { kind: 'ok', markers: [], result: 'wrong' }
const RETRIED: CallResponse = { kind: 'http', code: 503, markers: [] }

function valuesOf(source: string, { latency }: ToolResult): MeasuredTool['latencies'] {
  try {
    return Histogram.from(latency.histogram).values()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw rejectionError('NOT_MEASURED', `${source}: ${error.message}`, 'measure the tools again')
  }
}

/** Leaves out the longest latencies, which were those of calls without a response. */
function withoutLongest(
  values: MeasuredTool['latencies'],
  many: number,
): MeasuredTool['latencies'] {
  let left = many
  return values
    .toReversed()
    .map(([ms, count]) => {
      const out = Math.min(left, count)
      left -= out
      return [ms, count - out] as const
    })
    .filter(([, count]) => count > 0)
    .toReversed()
}
