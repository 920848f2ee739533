import { fieldsOf, quoted } from '#base'
import type { EXPERIMENT_SEARCH } from '../commands/search.ts'
import type { Plan } from '../experiment/plan.ts'
import type { ReadAndSaved, SavedPlan } from '../experiment/read-plan.ts'
import { readStored } from '../experiment/saved-plan.ts'
import type { Rejection } from '../experiment/rejection.ts'
import { type Condition, parseCondition } from '../search/condition.ts'
import type { SearchPlan } from '../search/search-plan.ts'
import { readSearch, type SearchSettings } from '../search/search-result.ts'
import { parseVariations, type Variation } from '../search/variation.ts'
import { readYaml } from '#rules'
import { invalidFile, type RequestOf } from '#cli'
import { usable } from '../cli/read-input.ts'
import { limitsOf, readAsked, validPlan } from './read-plans.ts'

export type SearchRequest = RequestOf<typeof EXPERIMENT_SEARCH>

/** A plan to search, and the plan as it is stored. */
export interface OpenedSearch extends SearchPlan {
  readonly kept: SavedPlan
  readonly settings: SearchSettings
  /** The reasons to reject the plan as it is written. */
  readonly rejections: readonly Rejection[]
}

/** Reads the plan of a search, or of an earlier one. Throws a `UsageError`. */
export async function openSearch(request: SearchRequest) {
  const { search: asked, experiments } = request
  if (asked.kind === 'new') {
    const plan = { kind: 'file', path: asked.path } as const
    const read = await readAsked({ ...request, plan })
    return { search: searchOf(read, asked.settings), earlier: undefined }
  }
  const earlier = await readSearch(experiments, asked.id)
  if (earlier === undefined) {
    const wrong = `search ${quoted(asked.id)} not found in ${quoted(experiments)}`
    throw invalidFile(wrong, 'pass the id that the search printed, and its --experiments')
  }
  const { kept, result } = earlier
  const read = await readStored(kept, await limitsOf(request))
  return { search: searchOf({ read, kept }, result.settings), earlier }
}

function searchOf({ read, kept }: ReadAndSaved, settings: SearchSettings): OpenedSearch {
  const { plan, rejections } = validPlan(kept.file, read)
  const variations = usable(() => parseVariations(settings.vary), '--vary: ')
  const condition = usable(() => parseCondition(settings.until), '--until: ')
  return { ...searchPlan({ plan, kept }, variations, condition), rejections, kept, settings }
}

export function searchPlan(
  { plan, kept }: { readonly plan: Plan; readonly kept: SavedPlan },
  variations: readonly Variation[],
  condition: Condition,
): SearchPlan {
  const written = fieldsOf(readYaml(kept.text).value)
  return { plan, directory: kept.directory, written, variations, condition }
}
