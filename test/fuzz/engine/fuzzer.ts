import { setImmediate as turn } from 'node:timers/promises'
import type { Random } from '../../support/random.ts'
import type { Target } from '../targets/target.ts'
import { featuresOf, type Coverage } from './coverage.ts'
import { mutated } from './mutator.ts'
import { smaller } from './smaller.ts'

/** The state of a run so far. */
export interface Progress {
  readonly executions: number
  /** Executions in which there was something to compare. */
  readonly compared: number
  readonly corpus: number
  readonly reached: number
  readonly places: number
}

/** An input for which the target threw. */
export interface Finding {
  readonly input: string
  readonly said: string
}

/** Asking V8 for its counts costs as much as some dozen inputs. */
const BATCH = 64
/** An input of a new kind is worth being kept, up to here. */
const MOST_KINDS = 400

interface Kept {
  readonly input: string
  readonly features: readonly string[]
}

/** Looks for inputs that a target does not stand, led by the code that they reach. */
export class Fuzzer {
  readonly #target: Target
  readonly #coverage: Coverage
  readonly #random: Random
  readonly #corpus: Kept[] = []
  /** Kept inputs with something to compare: mutating these is most productive. */
  readonly #comparable: string[] = []
  readonly #features = new Set<string>()
  readonly #reached = new Set<string>()
  readonly #kinds = new Set<string>()
  #executions = 0
  #compared = 0
  #finding: Finding | undefined

  constructor(target: Target, coverage: Coverage, random: Random) {
    this.#target = target
    this.#coverage = coverage
    this.#random = random
  }

  get progress(): Progress {
    const { places } = this.#coverage
    const corpus = this.#corpus.length
    const reached = this.#reached.size
    return { executions: this.#executions, compared: this.#compared, corpus, reached, places }
  }

  /** Begins with inputs that are known; a finding among them is reported at once. */
  async begin(inputs: readonly string[]): Promise<Finding | undefined> {
    for (const place of this.#coverage.take().keys()) this.#reached.add(place)
    for (const input of inputs) {
      const kind = await this.#try(input)
      if (kind === undefined) return this.#smallest(this.#finding!)
      await this.#weigh(input, kind)
    }
    return undefined
  }

  /** Continues while `mayGoOn` returns true; resolves with the finding, if any. */
  async run(mayGoOn: () => boolean): Promise<Finding | undefined> {
    while (mayGoOn() && this.#finding === undefined) {
      await this.#batch()
      // The references end their connections in later ticks: without a turn of the event loop
      // none would come, and each connection would be kept for good.
      await turn()
    }
    const finding = this.#finding
    return finding === undefined ? undefined : this.#smallest(finding)
  }

  /** The fewest inputs that still reach all that was reached, small ones first. */
  essence(most: number): string[] {
    const bySize = this.#corpus.toSorted((a, b) => a.input.length - b.input.length)
    const had = new Set<string>()
    const chosen: string[] = []
    for (const { input, features } of bySize) {
      // The execution count of a place guides the search, but not the choice of inputs to keep.
      const places = features.map((feature) => feature.slice(0, feature.lastIndexOf('x')))
      if (places.every((place) => had.has(place)) || chosen.length === most) continue
      for (const place of places) had.add(place)
      chosen.push(input)
    }
    const others = bySize.filter(({ input }) => !chosen.includes(input))
    return [...chosen, ...others.slice(0, most - chosen.length).map(({ input }) => input)]
  }

  async #batch(): Promise<void> {
    const random = this.#random
    const others = this.#corpus.map(({ input }) => input)
    const telling = this.#comparable
    const { tokens, maxLength, own = [] } = this.#target
    const tried: [input: string, kind: string][] = []
    for (let i = 0; i < BATCH; i++) {
      const among = random.chance(0.7) && telling.length > 0 ? telling : others
      // The inputs that were kept last are tried more often.
      const base = random.pick(random.chance(0.3) ? among.slice(-16) : among)
      const input = mutated(random, base, { tokens, others, maxLength, own })
      const kind = await this.#try(input)
      if (kind === undefined) return
      tried.push([input, kind])
    }
    const news = [...this.#coverage.take().keys()].some((place) => !this.#reached.has(place))
    for (const [input, kind] of tried) if (news || this.#isNew(kind)) await this.#weigh(input, kind)
  }

  /** Keeps an input by itself if it does anything new. */
  async #weigh(input: string, kind: string): Promise<void> {
    this.#coverage.take()
    const comparedBefore = this.#compared
    await this.#try(input)
    const counts = this.#coverage.take()
    const features = featuresOf(counts)
    for (const place of counts.keys()) this.#reached.add(place)
    if (!this.#isNew(kind) && features.every((feature) => this.#features.has(feature))) return
    this.#kinds.add(kind)
    for (const feature of features) this.#features.add(feature)
    this.#corpus.push({ input, features })
    if (this.#compared > comparedBefore) this.#comparable.push(input)
  }

  #isNew(kind: string): boolean {
    return this.#kinds.size < MOST_KINDS && !this.#kinds.has(kind)
  }

  /** Runs an input and returns its kind, or undefined if the run found a disagreement. */
  async #try(input: string): Promise<string | undefined> {
    this.#executions++
    try {
      const { kind, compared } = await this.#target.run(Buffer.from(input, 'latin1'))
      if (compared) this.#compared++
      return kind
    } catch (error) {
      this.#finding ??= { input, said: (error as Error).message }
      return undefined
    }
  }

  async #smallest({ input, said }: Finding): Promise<Finding> {
    const [about] = said.split(':')
    let last = said
    const shows = async (candidate: string): Promise<boolean> => {
      try {
        await this.#target.run(Buffer.from(candidate, 'latin1'))
        return false
      } catch (error) {
        const { message } = error as Error
        if (message.split(':')[0] !== about) return false
        last = message
        return true
      }
    }
    return { input: await smaller(input, shows), said: last }
  }
}
