import { digest } from '../../base/digest.ts'

/** Selects the first `tasks` of each `of` tasks. */
export interface EpisodeConfig {
  readonly tasks: number
  readonly of: number
}

/** Limits the remembered tasks. */
const MAX_TASKS = 10_000

/**
 * Numbers tasks by digests of their keys, which callers choose and which may be long, in the order
 * of their first calls. Forgets the oldest ones.
 */
export class Episodes {
  readonly #config: EpisodeConfig
  readonly #numbers = new Map<string, number>()
  #next = 0

  constructor(config: EpisodeConfig) {
    this.#config = config
  }

  /** Returns true when the task of a key is, or would be, in an episode. */
  has(key: string): boolean {
    return this.#isIn(digest(key))
  }

  /** Numbers the task of a key; returns true when it is in an episode. */
  add(key: string): boolean {
    const name = digest(key)
    const found = this.#isIn(name)
    if (!this.#numbers.has(name)) {
      this.#numbers.set(name, this.#next++)
      if (this.#numbers.size > MAX_TASKS) {
        const [oldest = ''] = this.#numbers.keys()
        this.#numbers.delete(oldest)
      }
    }
    return found
  }

  #isIn(name: string): boolean {
    const { tasks, of } = this.#config
    return (this.#numbers.get(name) ?? this.#next) % of < tasks
  }
}
