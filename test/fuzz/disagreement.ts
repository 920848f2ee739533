/** Two readers of the same bytes have come to different ends. */
export class Disagreement extends Error {
  /** The kind of difference, which stays the same while an input is made smaller. */
  readonly about: string

  constructor(about: string, detail: string) {
    super(`${about}: ${detail}`)
    this.about = about
  }
}

/** Throws a disagreement with both values if they differ. */
export function same(about: string, ours: unknown, theirs: unknown): void {
  const left = JSON.stringify(ours)
  const right = JSON.stringify(theirs)
  if (left !== right) throw new Disagreement(about, `here ${left}, there ${right}`)
}
