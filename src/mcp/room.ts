/** Memory that many share. Whoever has taken some gives it back. */
export interface Room {
  /** False, and nothing is taken, when there is not so much left. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** Room without an end, for whoever is bounded otherwise. */
export const ENDLESS: Room = { take: () => true, give: () => undefined }
