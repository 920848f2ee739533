import { lookup } from 'node:dns/promises'
import { LruMap } from '../../base/lru-map.ts'
import { ANY_HOST } from '../../http/destination.ts'
import type { Target } from './target.ts'

/** Addresses behind names change: they are looked up again after this, in milliseconds. */
const LIFETIME = 30_000
/** An unknown address causes a lookup at most this often, in milliseconds. */
const PAUSE = 1_000
/** A connection waits at most this long for its name. */
const PATIENCE = 2_000
const MAX_ADDRESSES = 10_000

/** Finds the target that an address belongs to. */
export class TargetNames {
  readonly #ranges: readonly Target[]
  readonly #named: readonly Target[]
  readonly #every: Target | undefined
  readonly #known = new LruMap<Target>(MAX_ADDRESSES)
  #lookedUpAt = -Infinity
  #looking: Promise<void> | undefined

  constructor(targets: readonly Target[]) {
    this.#ranges = targets.filter(({ range }) => range !== undefined)
    this.#every = targets.find(({ host }) => host === ANY_HOST)
    this.#named = targets.filter((each) => each.range === undefined && each !== this.#every)
  }

  /** Returns the target of an address; undefined for an address of none. */
  async of(address: string): Promise<Target | undefined> {
    const byRange = this.#ranges.find(({ range }) => range?.has(address))
    if (byRange !== undefined || this.#named.length === 0) return byRange ?? this.#every
    const lifetime = this.#known.get(address) === undefined ? PAUSE : LIFETIME
    if (performance.now() - this.#lookedUpAt > lifetime) await this.#lookUp()
    return this.#known.get(address) ?? this.#every
  }

  /** Looks up all names, for at most `PATIENCE`. */
  async #lookUp(): Promise<void> {
    this.#looking ??= this.#lookUpAll().finally(() => (this.#looking = undefined))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE)
    })
    await Promise.race([this.#looking, late])
    clearTimeout(timer)
  }

  async #lookUpAll(): Promise<void> {
    await Promise.all(
      this.#named.map(async (target) => {
        // A name that is not found now may be found later.
        const found = await lookup(target.host, { all: true }).catch(() => [])
        for (const { address } of found) this.#known.set(address, target)
      }),
    )
    this.#lookedUpAt = performance.now()
  }
}
