/** Says whether an input still shows what was found. */
export type Shows = (input: string) => Promise<boolean>

/** An input on its way to be as small as it can be. */
class Shrinking {
  best: string
  readonly #shows: Shows
  #left: number

  constructor(input: string, shows: Shows, tries: number) {
    this.best = input
    this.#shows = shows
    this.#left = tries
  }

  /**
   * Takes a candidate for the best one if it shows the same; false also when there were too many.
   */
  async takes(candidate: string): Promise<boolean> {
    if (this.#left-- <= 0 || candidate === this.best || !(await this.#shows(candidate)))
      return false
    this.best = candidate
    return true
  }
}

/** Makes an input smaller for as long as it shows what was found, trying no more than so often. */
export async function smaller(input: string, shows: Shows, tries = 3_000): Promise<string> {
  const now = new Shrinking(input, shows, tries)
  for (let size = input.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < now.best.length;) {
      const without = now.best.slice(0, at) + now.best.slice(at + size)
      if (!(await now.takes(without))) at += size
    }
  }
  // The plainer a byte, the easier to see which of them matter.
  for (let at = 0; at < now.best.length; at++) {
    const { best } = now
    if (/[\w\r\n :/]/.test(best[at]!)) continue
    await now.takes(`${best.slice(0, at)}a${best.slice(at + 1)}`)
  }
  return now.best
}
