/** Memory that many share. Whoever has taken some gives it back. */
export interface Room {
  /** False, and nothing is taken, when there is not so much left. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** Room without an end, for whoever is bounded otherwise. */
export const ENDLESS: Room = { take: () => true, give: () => undefined }

/** Something that is kept for later, and goes first when memory is short. */
export interface Kept {
  /** Forgets all of it, which counts no more. */
  letGo(): void
}

/** Memory for what is kept for later. */
export interface Keeping {
  /** Counts more of it; false, and nothing is counted, when there is not so much left. */
  keep(kept: Kept, bytes: number): boolean
  /** Less of it is kept. */
  forgo(kept: Kept, bytes: number): void
}

/** Memory without an end for what is kept. */
export const KEEP_ALL: Keeping = { keep: () => true, forgo: () => undefined }
