import { join } from 'node:path'
import { fieldsOf, listOf, makeDirectory, readBoundedText, replaceText } from '#base'
import { RUN_ID } from '../experiment/run-id.ts'
import { isSavedPlan } from '../experiment/saved-plan.ts'
import type { SavedPlan } from '../experiment/read-plan.ts'
import type { Limit, Point } from './bisection.ts'
import type { Step } from './limit-search.ts'

export const SEARCH_SCHEMA = 'squall.search/1'
const MAX_BYTES = 8 * 1024 * 1024

/** The settings of a search, which a resumed search keeps. */
export interface SearchSettings {
  /** One range, or two. */
  readonly vary: readonly string[]
  readonly until: string
  readonly falseFailed: number
  readonly falsePassed: number
  readonly precision: number
  readonly confidence: number
  readonly runsAtOne: number
}

/** The reason why a search ended; `found` when more runs would not help. */
export interface SearchEnd {
  readonly code: string
  readonly why: string
}

/** A search as far as it went. */
export interface SearchResult extends Limit {
  readonly schema: typeof SEARCH_SCHEMA
  readonly squall: string
  readonly id: string
  readonly name: string
  readonly target: string
  readonly startedAt: string
  readonly endedAt: string
  readonly settings: SearchSettings
  /** With two parameters, the limit of the first one at magnitudes of the second one. */
  readonly boundary?: readonly Step[]
  readonly points: readonly Point[]
  /** The ids of the runs, in the order of their times. */
  readonly runs: readonly string[]
  readonly calls: number
  readonly end: SearchEnd
  /** The path of a plan for the mildest magnitude that failed; null when none failed. */
  readonly failingPlan: string | null
}

/** A stored search with its plan, from which it can be resumed. */
export interface PastSearch {
  readonly result: SearchResult
  readonly kept: SavedPlan
}

const FILE = 'search.json'

/** Writes a search into the directory of its id; replaces the file at once. */
export async function keepSearch(experiments: string, search: PastSearch): Promise<void> {
  const directory = join(experiments, search.result.id)
  await makeDirectory(directory)
  await replaceText(join(directory, FILE), `${JSON.stringify(search, null, 2)}\n`)
}

/** Reads a stored search; undefined when there is none with the id, or when it is invalid. */
export async function readSearch(experiments: string, id: string): Promise<PastSearch | undefined> {
  if (!RUN_ID.test(id)) return undefined
  try {
    const value: unknown = JSON.parse(await readBoundedText(join(experiments, id, FILE), MAX_BYTES))
    return isKept(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isKept(value: unknown): value is PastSearch {
  const { result, kept } = fieldsOf(value)
  const { schema, points, runs, calls, settings, startedAt } = fieldsOf(result)
  const { vary, until, ...rates } = fieldsOf(settings)
  return (
    schema === SEARCH_SCHEMA &&
    [until, startedAt].every((each) => typeof each === 'string') &&
    Array.isArray(vary) &&
    vary.length > 0 &&
    vary.every((each) => typeof each === 'string') &&
    Object.values(rates).every((each) => Number.isFinite(each)) &&
    isSavedPlan(kept) &&
    Array.isArray(runs) &&
    Number.isFinite(calls) &&
    Array.isArray(points) &&
    listOf(points).length === points.length &&
    listOf(points).every(
      (point) =>
        Number(point['magnitude']) > 0 &&
        Number(point['evidence']) >= 1 &&
        (vary.length === 1 || Number(point['second']) > 0) &&
        ['passed', 'failed', 'undecided'].includes(String(point['decision'])),
    )
  )
}
