/** A shared memory budget. Callers release the memory that they reserve. */
export interface ByteBudget {
  /** Reserves memory; returns false, without a reservation, when too little is left. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** The memory for the messages of an exchange. */
export interface MessageBudget extends ByteBudget {
  /** Reserves memory until the end of the exchange; returns false when too little is left. */
  reserve(bytes: number): boolean
}

/** An unlimited budget, for callers with another bound. */
export const ENDLESS: ByteBudget = { take: () => true, give: () => undefined }

/** A cache that is dropped first when memory is short. */
export interface EvictableCache {
  /** Drops all content, which no longer counts. */
  evict(): void
}

/** The memory budget of caches. */
export interface CacheBudget {
  /** Reserves memory; returns false, without a reservation, when too little is left. */
  keep(kept: EvictableCache, bytes: number): boolean
  /** Releases memory. */
  release(kept: EvictableCache, bytes: number): void
}

export const UNLIMITED_CACHES: CacheBudget = { keep: () => true, release: () => undefined }
