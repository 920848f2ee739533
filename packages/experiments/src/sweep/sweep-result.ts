import { join } from 'node:path'
import { fieldsOf, listOf, readJsonFile, replaceText } from '#base'
import { shareInterval } from '../slo/share-interval.ts'
import type { SweepRequest } from '../commands/sweep.ts'
import type { SweepCall } from './cells.ts'
import type { FaultName } from './faults.ts'
import { isGood, type Run, type SweepVerdict, VERDICT_NAMES, VERDICTS } from './judge.ts'

export const SWEEP_SCHEMA = 'squall.sweep/1'

export interface CellRun extends Pick<
  Run,
  'exitCode' | 'seconds' | 'calls' | 'falseUsed' | 'lines'
> {
  readonly verdict: SweepVerdict
  readonly offTape: number
}

export interface CellResult {
  readonly id: string
  readonly call: number
  readonly fault: FaultName
  /** The worst of its runs. */
  readonly verdict: SweepVerdict
  /**
   * The share of good runs among those with the fault, with its 95 % interval; missing for a single
   * run.
   */
  readonly share?: { readonly [of in 'good' | 'runs' | 'low' | 'high']: number }
  readonly runs: readonly CellRun[]
}

export interface ShownCall extends Omit<SweepCall, 'args' | 'key'> {
  /** The arguments, shortened. */
  readonly args: string
}

/** What two sweeps must share to be one; secrets are replaced in its commands. */
export interface SweepSettings extends Pick<
  SweepRequest,
  'tape' | 'command' | 'match' | 'faults' | 'repeat'
> {
  /** The digest of the tape. */
  readonly digest: string
  readonly check: string | null
  readonly cellTimeoutMs: number
}

/** The result of a sweep, stored after each cell. */
export interface SweepResult {
  readonly schema: typeof SWEEP_SCHEMA
  readonly squall: string
  readonly startedAt: string
  readonly settings: SweepSettings
  readonly calls: readonly ShownCall[]
  /** Calls that do not occur in all runs without a fault: they are not tested. */
  readonly unstable: readonly ShownCall[]
  readonly cells: readonly CellResult[]
  /** The number of cells that were not run. */
  readonly left: number
}

/** Returns the worst verdict of the runs of a cell. */
export function worstOf(runs: readonly CellRun[]): SweepVerdict {
  return VERDICT_NAMES.findLast((verdict) => runs.some((run) => run.verdict === verdict))!
}

/** Returns the share of good runs among those in which the fault was injected. */
export function goodShare(all: readonly CellRun[]): Pick<CellResult, 'share'> {
  const injected = all.filter(({ verdict }) => verdict !== 'not_reached')
  const runs = injected.length
  if (all.length === 1 || runs === 0) return {}
  const good = injected.filter(({ verdict }) => isGood(verdict)).length
  const [low, high] = shareInterval(good, runs)
  return { share: { good, runs, low, high } }
}

/** Returns true for a cell that breaks the task. */
export function isBad({ verdict }: CellResult): boolean {
  return !isGood(verdict)
}

/** Returns the cells that break the task, the worst first. */
export function badCells({ cells }: SweepResult): readonly CellResult[] {
  const rank = (cell: CellResult): number => VERDICT_NAMES.indexOf(cell.verdict)
  return cells.filter(isBad).toSorted((a, b) => rank(b) - rank(a))
}

const FILE = 'result.json'

/** Stores what is known of a sweep. */
export async function storeSweep(directory: string, result: SweepResult): Promise<void> {
  await replaceText(join(directory, FILE), `${JSON.stringify(result, null, 2)}\n`, 0o600)
}

/** Reads a stored sweep; undefined when there is none, or when it is invalid. */
export async function readSweep(directory: string): Promise<SweepResult | undefined> {
  const value = await readJsonFile(join(directory, FILE))
  return isSweep(value) ? value : undefined
}

function isSweep(value: unknown): value is SweepResult {
  const { schema, cells, settings } = fieldsOf(value)
  return (
    schema === SWEEP_SCHEMA &&
    Array.isArray(fieldsOf(settings)['command']) &&
    listOf(cells).every(
      ({ id, call, verdict, runs }) =>
        typeof id === 'string' &&
        typeof call === 'number' &&
        [verdict, ...listOf(runs).map((run) => run['verdict'])].every((each) =>
          Object.hasOwn(VERDICTS, String(each)),
        ),
    )
  )
}
