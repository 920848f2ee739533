import { readFileSync } from 'node:fs'
import { Session, type Profiler } from 'node:inspector'
import { fileURLToPath } from 'node:url'

/** Counts the executions of each place in some files, from V8's precise coverage. */
export class Coverage {
  readonly #session = new Session()
  readonly #files: readonly string[]
  /** The places of each script that are looked at: behind whatever may begin a block. */
  readonly #places = new Map<string, readonly number[]>()

  /** Counts in scripts whose URL ends with one of these. To be started before they are loaded. */
  constructor(files: readonly string[]) {
    this.#files = files
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** The number of places in the scripts that were seen so far. */
  get places(): number {
    let sum = 0
    for (const places of this.#places.values()) sum += places.length
    return sum
  }

  /** The counts since the last call, by place; places that were not reached are left out. */
  take(): Map<string, number> {
    const counts = new Map<string, number>()
    let scripts: Profiler.ScriptCoverage[] = []
    this.#session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error
      scripts = taken.result
    })
    for (const { url, functions } of scripts) {
      if (!this.#files.some((file) => url.endsWith(file))) continue
      const ranges = functions.flatMap((each) => each.ranges)
      for (const place of this.#placesOf(url)) {
        const count = countAt(ranges, place)
        if (count > 0) counts.set(`${url}:${place}`, count)
      }
    }
    return counts
  }

  /**
   * Returns the files of which no script with a place was seen: they have moved, or nothing loads
   * them.
   */
  unseen(): readonly string[] {
    const seen = [...this.#places].filter(([, places]) => places.length > 0).map(([url]) => url)
    return this.#files.filter((file) => !seen.some((url) => url.endsWith(file)))
  }

  close(): void {
    this.#session.disconnect()
  }

  #placesOf(url: string): readonly number[] {
    let places = this.#places.get(url)
    if (places === undefined) {
      const source = withoutComments(readFileSync(fileURLToPath(url), 'utf8'))
      places = Array.from(source.matchAll(/[{?:;&|]\s*|\n\s*/g), (m) => m.index + m[0].length)
      this.#places.set(url, places)
    }
    return places
  }
}

/** Comments as blanks, so that what follows them stands where it stood. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[^]*?\*\/|^ *\/\/.*$/gm, (comment) => ' '.repeat(comment.length))
}

/** Returns the count of the innermost range around a place. */
function countAt(ranges: readonly Profiler.CoverageRange[], place: number): number {
  let count = 0
  let size = Infinity
  for (const range of ranges) {
    if (range.startOffset > place || range.endOffset <= place) continue
    const length = range.endOffset - range.startOffset
    if (length > size) continue
    size = length
    count = range.count
  }
  return count
}

/** Counts as features: a place that was run some more is another feature than one run a little. */
export function featuresOf(counts: ReadonlyMap<string, number>): string[] {
  return Array.from(counts, ([place, count]) => `${place}x${Math.min(8, 32 - Math.clz32(count))}`)
}
