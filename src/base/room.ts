/** A shared memory budget. Callers release the memory that they reserve. */
export interface Room {
  /** Reserves memory; returns false, without a reservation, when too little is left. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** The memory for the messages of an exchange. */
export interface MessageRoom extends Room {
  /** Reserves memory until the end of the exchange; returns false when too little is left. */
  reserve(bytes: number): boolean
}

/** An unlimited budget, for callers with another bound. */
export const ENDLESS: Room = { take: () => true, give: () => undefined }

/** A cache that is dropped first when memory is short. */
export interface Kept {
  /** Drops all content, which no longer counts. */
  letGo(): void
}

/** The memory budget of caches. */
export interface Keeping {
  /** Reserves memory; returns false, without a reservation, when too little is left. */
  keep(kept: Kept, bytes: number): boolean
  /** Releases memory. */
  forgo(kept: Kept, bytes: number): void
}

/** An unlimited budget of caches. */
export const KEEP_ALL: Keeping = { keep: () => true, forgo: () => undefined }
