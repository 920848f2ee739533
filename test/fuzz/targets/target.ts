import type { OwnStroke } from '../engine/mutator.ts'

/** The result of one input. */
export interface Tried {
  /** In few words, by which inputs of a new kind are noticed. */
  readonly kind: string
  /** There was something to compare. */
  readonly compared: boolean
}

/** Something to fuzz: code under test beside what it must agree with. */
export interface Target {
  readonly name: string
  /** Inputs to begin with; one character is one byte. */
  readonly seeds: readonly string[]
  /** Strings that are inserted into inputs besides single bytes. */
  readonly tokens: readonly string[]
  readonly maxLength: number
  /** Strokes of its own, besides those that know of bytes and tokens alone. */
  readonly own?: readonly OwnStroke[]
  /** Tries one input. Throws where the readers disagree. */
  run(input: Buffer): Tried | Promise<Tried>
}
