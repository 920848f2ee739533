import { lookup } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ANY_HOST } from '../../http/address.ts'
import type { Target } from './target.ts'

/** Addresses behind names change: they are looked up again after this, in milliseconds. */
const LIFETIME = 30_000
/** An address that lookups no longer return is forgotten after this: answers may rotate. */
const FORGET = 180_000
/** An unknown address causes a lookup at most this often, in milliseconds. */
const PAUSE = 1_000
/** A connection waits at most this long for its name. */
const PATIENCE = 2_000

/** Finds the target that an address belongs to. */
export class TargetNames {
  readonly #ranges: readonly Target[]
  readonly #every: Target | undefined
  /** The addresses of each name, and when a lookup returned each last. */
  readonly #named = new Map<Target, Map<string, number>>()
  #lookedUpAt = -Infinity
  #looking: Promise<void> | undefined

  constructor(targets: readonly Target[]) {
    this.#ranges = targets.filter(({ range }) => range !== undefined)
    this.#every = targets.find(({ host }) => host === ANY_HOST)
    for (const target of targets) {
      if (target.range === undefined && target !== this.#every) this.#named.set(target, new Map())
    }
  }

  /** Returns the target of an address; undefined for an address of none. */
  async of(address: string): Promise<Target | undefined> {
    const byRange = this.#ranges.find(({ range }) => range?.has(address))
    if (byRange !== undefined || this.#named.size === 0) return byRange ?? this.#every
    const known = this.#known(address)
    const age = performance.now() - this.#lookedUpAt
    if (known !== undefined) {
      if (age > LIFETIME) void this.#lookUp()
      return known
    }
    if (age > PAUSE) await this.#lookUp()
    return this.#known(address) ?? this.#every
  }

  #known(address: string): Target | undefined {
    for (const [target, addresses] of this.#named) if (addresses.has(address)) return target
    return undefined
  }

  /** Looks up all names, for at most `PATIENCE`. */
  async #lookUp(): Promise<void> {
    this.#looking ??= this.#lookUpAll().finally(() => (this.#looking = undefined))
    await Promise.race([this.#looking, sleep(PATIENCE, undefined, { ref: false })])
  }

  async #lookUpAll(): Promise<void> {
    this.#lookedUpAt = performance.now()
    await Promise.all(
      [...this.#named.keys()].map(async (target) => {
        // A name that is not found keeps its addresses: its DNS server may be gone for a moment.
        const found = await lookup(target.host, { all: true }).catch(() => undefined)
        if (found === undefined) return
        const addresses = this.#named.get(target)!
        const now = performance.now()
        for (const { address } of found) addresses.set(address, now)
        for (const [address, at] of addresses) if (now - at > FORGET) addresses.delete(address)
      }),
    )
  }
}
