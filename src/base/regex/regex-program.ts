import { MAX_CODE_POINT, WORD, has, type CharSet } from './char-set.ts'
import { RegexError } from './regex-error.ts'
import { parseRegex, type Assertion, type RegexNode } from './regex-parse.ts'

/** Limits the steps: matching takes at most this times the length of the text. */
export const MAX_STEPS = 500
const MAX_WORK = 20_000

/** One step of a program. A `set` continues at the next step, others name their successors. */
export type Step =
  | { readonly op: 'set'; readonly set: number }
  | { readonly op: 'assert'; readonly what: Assertion }
  | { readonly op: 'fork'; readonly a: number; readonly b: number }
  | { readonly op: 'jump'; readonly to: number }
  | { readonly op: 'match' }

/** A pattern as a nondeterministic automaton over classes of equivalent characters. */
export interface Program {
  readonly steps: readonly Step[]
  readonly classes: number
  readonly ascii: Uint16Array
  /** The first code point of each stretch of one class, in order; parallel to `stretchClass`. */
  readonly stretches: readonly number[]
  readonly stretchClass: readonly number[]
  /** `members[set * classes + class]` is 1 when the set has the class. */
  readonly members: Uint8Array
  /** 1 for classes of word characters; all 0 when no step asks. */
  readonly word: Uint8Array
}

/** Translates a pattern; throws a `RegexError`. */
export function compileProgram(pattern: string): Program {
  const emitter = new Emitter(pattern)
  emitter.emit(parseRegex(pattern))
  emitter.add({ op: 'match' })
  const { steps, sets } = emitter
  const usesWord = steps.some((step) => step.op === 'assert' && step.what.endsWith('word'))
  const separated = usesWord ? [...sets, WORD] : sets
  const starts = new Set([0])
  for (const set of separated) {
    for (let i = 0; i < set.length; i += 2) {
      starts.add(set[i]!)
      if (set[i + 1]! < MAX_CODE_POINT) starts.add(set[i + 1]! + 1)
    }
  }
  const stretches = [...starts].sort((a, b) => a - b)
  const byMembership = new Map<string, number>()
  const stretchClass = stretches.map((start) => {
    const key = separated.map((set) => (has(set, start) ? '1' : '0')).join('')
    const known = byMembership.get(key)
    if (known !== undefined) return known
    byMembership.set(key, byMembership.size)
    return byMembership.size - 1
  })
  const classes = byMembership.size
  const members = new Uint8Array(sets.length * classes)
  const word = new Uint8Array(classes)
  stretches.forEach((start, i) => {
    const cls = stretchClass[i]!
    for (let s = 0; s < sets.length; s++) if (has(sets[s]!, start)) members[s * classes + cls] = 1
    if (usesWord && has(WORD, start)) word[cls] = 1
  })
  const ascii = new Uint16Array(128)
  for (let code = 0, i = 0; code < 128; code++) {
    while (i + 1 < stretches.length && stretches[i + 1]! <= code) i++
    ascii[code] = stretchClass[i]!
  }
  return { steps, classes, ascii, stretches, stretchClass, members, word }
}

export function classOf(program: Program, code: number): number {
  let low = 0
  let high = program.stretches.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (program.stretches[middle]! <= code) low = middle
    else high = middle - 1
  }
  return program.stretchClass[low]!
}

class Emitter {
  readonly steps: Step[] = []
  readonly sets: CharSet[] = []
  readonly #setIndex = new Map<string, number>()
  readonly #pattern: string
  #work = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  add(step: Step): number {
    if (this.steps.length >= MAX_STEPS) this.#tooLarge()
    return this.steps.push(step) - 1
  }

  emit(node: RegexNode): void {
    // Repetitions of nothing add no step, so the steps alone do not bound the work.
    if (++this.#work > MAX_WORK) this.#tooLarge()
    switch (node.kind) {
      case 'set':
        this.add({ op: 'set', set: this.#setOf(node.set) })
        break
      case 'assert':
        this.add({ op: 'assert', what: node.what })
        break
      case 'sequence':
        for (const part of node.parts) this.emit(part)
        break
      case 'choice':
        this.#choice(node.options)
        break
      case 'repeat':
        this.#repeat(node.node, node.min, node.max)
    }
  }

  #choice(options: readonly RegexNode[]): void {
    const jumps: number[] = []
    options.forEach((option, i) => {
      if (i === options.length - 1) {
        this.emit(option)
        return
      }
      const fork = this.add({ op: 'match' })
      this.emit(option)
      jumps.push(this.add({ op: 'match' }))
      this.steps[fork] = { op: 'fork', a: fork + 1, b: this.steps.length }
    })
    for (const jump of jumps) this.steps[jump] = { op: 'jump', to: this.steps.length }
  }

  #repeat(node: RegexNode, min: number, max: number): void {
    for (let i = 0; i < min; i++) this.emit(node)
    if (max === Infinity) {
      const fork = this.add({ op: 'match' })
      this.emit(node)
      this.add({ op: 'jump', to: fork })
      this.steps[fork] = { op: 'fork', a: fork + 1, b: this.steps.length }
      return
    }
    const forks: number[] = []
    for (let i = min; i < max; i++) {
      forks.push(this.add({ op: 'match' }))
      this.emit(node)
    }
    for (const fork of forks) {
      this.steps[fork] = { op: 'fork', a: fork + 1, b: this.steps.length }
    }
  }

  #setOf(set: CharSet): number {
    const key = set.join()
    const known = this.#setIndex.get(key)
    if (known !== undefined) return known
    this.#setIndex.set(key, this.sets.length)
    return this.sets.push(set) - 1
  }

  #tooLarge(): never {
    throw new RegexError(
      `this pattern is too large: with repetitions expanded, it has more than ${MAX_STEPS} steps`,
      this.#pattern,
      0,
    )
  }
}
