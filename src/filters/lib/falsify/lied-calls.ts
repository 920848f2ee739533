import { canonicalJson } from '../../../base/json/canonical-json.ts'
import { digest } from '../../../base/digest.ts'
import { LruMap } from '../../../base/lru-map.ts'
import type { Keeping } from '../../../base/room.ts'
import { hashOf } from '../../../base/seeded-random.ts'
import type { FaultContext } from '../../fault.ts'
import { type Audience, audience } from '../audience.ts'
import { aboutOf } from '../kept-calls.ts'
import { KeptResponses } from '../kept-responses.ts'

/** Older calls of a task, or of all callers without tasks, may be falsified again. */
const MAX_CALLS = 1000
/** The entities of which a result is kept for each caller and tool. */
const ENTITIES = 4

/** Results of the same caller, before the present one. */
export interface Earlier {
  /** The result of the same call. */
  readonly same?: string | undefined
  /** Results of the same tool. */
  readonly others: readonly string[]
  /** The reason for which nothing is kept. */
  readonly cannot?: Audience['cannot']
}

/**
 * Remembers which calls of a task were falsified, so that looking again finds the truth; and, as
 * `replay` does, earlier results.
 */
export class LiedCalls {
  readonly #kept: KeptResponses
  readonly #byTask = new WeakMap<object, LruMap<true>>()

  constructor(keeping: Keeping) {
    this.#kept = new KeptResponses(0, keeping)
  }

  /** Returns true for a call that was falsified before in its task. */
  has(ctx: FaultContext): boolean {
    return this.#byTask.get(ctx.task ?? this)?.get(keyOf(ctx)) === true
  }

  add(ctx: FaultContext): void {
    const task = ctx.task ?? this
    const calls = this.#byTask.get(task) ?? new LruMap<true>(MAX_CALLS)
    this.#byTask.set(task, calls)
    calls.set(keyOf(ctx), true)
  }

  /** Returns the earlier results, and keeps this one. */
  keep(ctx: FaultContext, text: string): Earlier {
    const call = canonicalJson(aboutOf(ctx, true))
    const tool = aboutOf(ctx, false)!
    const { key, cannot } = audience(ctx, 'caller', [call])
    if (key === undefined) return { others: [], cannot }
    const entities = Array.from(
      { length: ENTITIES },
      (_, at) => audience(ctx, 'caller', [...tool, at]).key!,
    )
    const older = [key, ...entities].map((each) => this.#kept.older(each, ctx.now()))
    this.#kept.add(key, text, ctx.now())
    // The same call comes to the same place, so that other entities stay.
    this.#kept.add(entities[hashOf(call) % ENTITIES]!, text, ctx.now())
    const others = older.slice(1).filter((each) => each !== undefined)
    return { same: older[0], others }
  }

  /** Its rule is gone. */
  close(): void {
    this.#kept.close()
  }
}

function keyOf(ctx: FaultContext): string {
  return digest(canonicalJson([ctx.caller ?? null, aboutOf(ctx, true)]))
}
