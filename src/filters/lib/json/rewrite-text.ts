import { pointerTo } from '../../../base/json/json-pointer.ts'
import { inOrder, splice } from '../../../base/json/json-edit.ts'
import { drawDrift } from './drift.ts'
import { operationEdits, type JsonOperation } from './json-operation.ts'
import type { JsonPart } from './json-part.ts'

/** Finds what operations are about: values that do not overlap. */
export type FindParts = (text: string) => readonly JsonPart[]

/** A text that was changed, and by what. */
export interface Rewritten {
  readonly text: string
  readonly done: readonly JsonOperation[]
}

/** Other calls are served after this many characters. */
const MOST_AT_ONCE = 64 * 1024

/** The number of random edits in a row that may find nothing to change. */
const MAX_MISSES = 5

/** A text whose parts are changed step by step, each step seeing what the one before it made. */
export class TextRewrite {
  #text: string
  readonly #find: FindParts
  readonly #nextLoop: () => Promise<void>
  readonly #done: JsonOperation[] = []
  #parts: readonly JsonPart[] | undefined
  #worked = 0

  /** `nextLoop` resolves in a later iteration of the event loop. */
  constructor(text: string, find: FindParts, nextLoop: () => Promise<void>) {
    this.#text = text
    this.#find = find
    this.#nextLoop = nextLoop
  }

  /** The changed text; undefined when nothing was changed. */
  get result(): Rewritten | undefined {
    return this.#done.length === 0 ? undefined : { text: this.#text, done: this.#done }
  }

  /** Does one operation; false when it finds nothing to change. */
  async apply(operation: JsonOperation): Promise<boolean> {
    const parts = await this.#found()
    const edits = parts.flatMap((part) =>
      part.outer(operationEdits(part.text, part.node, operation)),
    )
    if (edits.length === 0) return false
    this.#text = splice(this.#text, inOrder(edits))
    this.#parts = undefined
    this.#done.push(operation)
    await this.#rest()
    return true
  }

  /** Makes a number of random changes. */
  async drift(changes: number, random: () => number): Promise<void> {
    let misses = 0
    for (let made = 0; made < changes && misses < MAX_MISSES;) {
      const sampled = drawDrift(await this.#found(), this.#done, random)
      if (sampled === undefined) return
      await this.#rest()
      if (await this.apply(sampled)) {
        made++
        misses = 0
      } else {
        misses++
      }
    }
  }

  async #found(): Promise<readonly JsonPart[]> {
    if (this.#parts === undefined) {
      await this.#rest()
      this.#parts = this.#find(this.#text)
      await this.#rest()
    }
    return this.#parts
  }

  async #rest(): Promise<void> {
    this.#worked += this.#text.length
    if (this.#worked < MOST_AT_ONCE) return
    this.#worked = 0
    await this.#nextLoop()
  }
}

export function doneText(done: readonly JsonOperation[]): string {
  return done.map(({ kind, keys }) => `${kind} ${pointerTo(keys)}`).join(', ')
}
