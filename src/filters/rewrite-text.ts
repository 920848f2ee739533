import { inOrder, splice } from '../mcp/json-edit.ts'
import { drawDrift } from './drift.ts'
import { operationEdits, type JsonOperation } from './json-operation.ts'
import type { JsonPart } from './json-part.ts'
import { pointerTo } from './pointer.ts'

/** Finds what operations are about: values that do not overlap. */
export type FindParts = (text: string) => readonly JsonPart[]

/** A text that was changed, and by what. */
export interface Rewritten {
  readonly text: string
  readonly done: readonly JsonOperation[]
}

/** How often in a row a draw may come to nothing before no more are made. */
const MAX_MISSES = 5

/** A text whose parts are changed step by step, each step seeing what the one before it made. */
export class TextRewrite {
  #text: string
  readonly #find: FindParts
  readonly #done: JsonOperation[] = []
  #parts: readonly JsonPart[] | undefined

  constructor(text: string, find: FindParts) {
    this.#text = text
    this.#find = find
  }

  /** What it has come to; undefined when nothing was changed. */
  get result(): Rewritten | undefined {
    return this.#done.length === 0 ? undefined : { text: this.#text, done: this.#done }
  }

  /** Does one operation; false when it finds nothing to change. */
  apply(operation: JsonOperation): boolean {
    this.#parts ??= this.#find(this.#text)
    const edits = this.#parts.flatMap((part) =>
      part.outer(operationEdits(part.text, part.node, operation)),
    )
    if (edits.length === 0) return false
    this.#text = splice(this.#text, inOrder(edits))
    this.#parts = undefined
    this.#done.push(operation)
    return true
  }

  /** Makes so many changes that are drawn. */
  drift(changes: number, random: () => number): void {
    let misses = 0
    for (let made = 0; made < changes && misses < MAX_MISSES;) {
      this.#parts ??= this.#find(this.#text)
      const drawn = drawDrift(this.#parts, this.#done, random)
      if (drawn === undefined) return
      if (this.apply(drawn)) {
        made++
        misses = 0
      } else {
        misses++
      }
    }
  }
}

/** What was done, for people to read. */
export function doneText(done: readonly JsonOperation[]): string {
  return done.map(({ kind, keys }) => `${kind} ${pointerTo(keys)}`).join(', ')
}
