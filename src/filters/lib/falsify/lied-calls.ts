import { canonicalJson } from '../../../base/values.ts'
import { digest } from '../../../base/digest.ts'
import { LruMap } from '../../../base/lru-map.ts'
import type { CacheBudget } from '../../../base/byte-budget.ts'
import { hashOf } from '../../../base/seeded-random.ts'
import type { FaultContext } from '../../fault.ts'
import { type Audience, audience } from '../audience.ts'
import { aboutOf } from '../kept-calls.ts'
import { StoredResponses } from '../stored-responses.ts'

/** Beyond this number, older calls may be falsified again. */
const MAX_CALLS = 10_000
/** The entities of which a result is kept for each caller and tool. */
const ENTITIES = 4

/** Results of the same call and of the same tool, to the same caller. */
export interface Earlier {
  readonly same?: string | undefined
  readonly others: readonly string[]
  /** The reason for which nothing is kept. */
  readonly cannot?: Audience['cannot']
}

/**
 * Remembers which calls of a task, or else of a caller, were falsified, so that looking again finds
 * the truth; and, as `replay` does, earlier results.
 */
export class LiedCalls {
  readonly #kept: StoredResponses
  readonly #calls = new LruMap<true>(MAX_CALLS)
  readonly #tasks = new WeakMap<object, number>()
  #lastTask = 0

  constructor(cacheBudget: CacheBudget) {
    this.#kept = new StoredResponses(0, cacheBudget)
  }

  /** Returns true for a call that was falsified before, if only before its task was clear. */
  has(ctx: FaultContext): boolean {
    return [ctx.task, undefined].some((task) => this.#calls.get(this.#keyOf(ctx, task)) === true)
  }

  add(ctx: FaultContext): void {
    this.#calls.set(this.#keyOf(ctx, ctx.task), true)
  }

  #keyOf(ctx: FaultContext, task: FaultContext['task']): string {
    const number = task && (this.#tasks.get(task) ?? ++this.#lastTask)
    if (task && number) this.#tasks.set(task, number)
    return digest(JSON.stringify([number ?? ctx.caller ?? null, canonicalJson(aboutOf(ctx, true))]))
  }

  /** Returns the earlier results, and keeps this one. */
  keep(ctx: FaultContext, text: string): Earlier {
    const call = canonicalJson(aboutOf(ctx, true))
    const { key, cannot } = audience(ctx, 'caller', [call])
    if (key === undefined) return { others: [], cannot }
    const entities = Array.from(
      { length: ENTITIES },
      (_, at) => audience(ctx, 'caller', [...aboutOf(ctx, false)!, at]).key!,
    )
    const [same, ...others] = [key, ...entities].map((each) => this.#kept.older(each, ctx.now()))
    this.#kept.add(key, text, ctx.now())
    // The same call comes to the same place, so that other entities stay.
    this.#kept.add(entities[hashOf(call) % ENTITIES]!, text, ctx.now())
    return { same, others: others.filter((each) => each !== undefined) }
  }

  /** Its rule is gone. */
  close(): void {
    this.#kept.close()
  }
}
