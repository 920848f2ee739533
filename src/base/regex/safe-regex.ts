import { classOf, compileProgram, type Program } from './regex-program.ts'
import { unread } from '../glob.ts'

/** Longer texts match no expression: callers choose the text, and must not determine the time. */
export const MAX_REGEX_TEXT = 32_768

/** Returns true for a text that is too long to match. */
export function isTooLong(text: string | undefined): boolean {
  return text !== undefined && text.length > MAX_REGEX_TEXT
}

/**
 * Limits the cached states and transitions of one expression; beyond it the cache is cleared. About
 * 50 KB: callers may fill the cache of every expression of a file.
 */
const MAX_REMEMBERED = 4000
/**
 * A text that fills the cache more often than this does not profit: its rest is matched without.
 */
const MAX_FORGOTTEN = 2

/** The possible positions of the automaton before the next character. */
interface State {
  readonly at: readonly number[]
  /** True before the first character. */
  readonly begin: boolean
  /** True when the last character was a word character. */
  readonly afterWord: boolean
  readonly next: (State | undefined)[]
  /** True when the text may end here; undefined until first asked. */
  end: boolean | undefined
}

const MATCHED: State = { at: [], begin: false, afterWord: false, next: [], end: true }
const DEAD: State = { at: [], begin: false, afterWord: false, next: [], end: false }

/**
 * Searches a regular expression in time linear in the text, for every pattern: all paths are
 * followed at once, and their states are cached. It supports literals, `.`, classes, `\d \w \s \b`
 * and their opposites, `^ $`, groups, `|`, `* + ? {m,n}` and `(?i)` at the start; it is found
 * anywhere in the text unless anchored.
 */
export class SafeRegex {
  readonly source: string
  readonly #program: Program
  readonly #anchored: boolean
  readonly #states = new Map<string, State>()
  readonly #marker: Uint32Array
  #round = 0
  #remembered = 0
  #forgotten = 0
  #start: State

  /** Throws a `RegexError` for a pattern that is invalid, too large or not supported. */
  constructor(pattern: string) {
    this.source = pattern
    this.#program = compileProgram(pattern)
    this.#marker = new Uint32Array(this.#program.steps.length)
    this.#anchored = this.#beginsAnchored()
    this.#start = this.#stateFor([0], true, false)
  }

  /** Returns true when the text has a match; false for texts above `MAX_REGEX_TEXT`. */
  test(text: string): boolean {
    const length = text.length
    if (length > MAX_REGEX_TEXT) {
      unread.texts++
      return false
    }
    const program = this.#program
    const ascii = program.ascii
    this.#forgotten = 0
    let state = this.#start
    for (let i = 0; i < length; i++) {
      let code = text.charCodeAt(i)
      let cls: number
      if (code < 128) {
        cls = ascii[code]!
      } else {
        if (code >= 0xd800 && code < 0xdc00) {
          code = text.codePointAt(i)!
          if (code > 0xffff) i++
        }
        cls = classOf(program, code)
      }
      const next = state.next[cls] ?? this.#advance(state, cls)
      if (next === MATCHED) return true
      if (next === DEAD) return false
      state = next
    }
    return (state.end ??= this.#follow(state, -1) === undefined)
  }

  #advance(state: State, cls: number): State {
    const at = this.#follow(state, cls)
    const afterWord = this.#program.word[cls] === 1
    if (this.#forgotten > MAX_FORGOTTEN && at !== undefined) {
      return at.length === 0 ? DEAD : { at, begin: false, afterWord, next: [], end: undefined }
    }
    const next = at === undefined ? MATCHED : this.#intern(at, afterWord)
    state.next[cls] = next
    return next
  }

  #intern(at: number[], afterWord: boolean): State {
    if (at.length === 0) return DEAD
    if (this.#remembered >= MAX_REMEMBERED) {
      this.#forgotten++
      this.#states.clear()
      this.#remembered = 0
      this.#start = this.#stateFor([0], true, false)
    }
    // Sorted positions make equal sets one state.
    at.sort((a, b) => a - b)
    return this.#stateFor(at, false, afterWord)
  }

  #stateFor(at: readonly number[], begin: boolean, afterWord: boolean): State {
    const key = `${begin ? 'b' : afterWord ? 'w' : ''}${at.join()}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const made: State = { at, begin, afterWord, next: [], end: undefined }
    this.#states.set(key, made)
    this.#remembered += at.length + this.#program.classes
    return made
  }

  /**
   * Returns the positions after a character of the class, or undefined when the match is complete.
   * A class of -1 is the end of the text.
   */
  #follow(state: State, cls: number): number[] | undefined {
    const { steps, members, classes, word } = this.#program
    const marker = this.#marker
    // A repeated round number would let a loop be followed forever.
    if (this.#round === 0xffff_ffff) {
      marker.fill(0)
      this.#round = 0
    }
    const round = ++this.#round
    const beforeWord = cls >= 0 && word[cls] === 1
    const boundary = state.afterWord !== beforeWord
    const todo = [...state.at]
    const out: number[] = []
    for (let pc = todo.pop(); pc !== undefined; pc = todo.pop()) {
      if (marker[pc] === round) continue
      marker[pc] = round
      const step = steps[pc]!
      switch (step.op) {
        case 'match':
          return undefined
        case 'jump':
          todo.push(step.to)
          break
        case 'fork':
          todo.push(step.b, step.a)
          break
        case 'set':
          if (cls >= 0 && members[step.set * classes + cls] === 1) out.push(pc + 1)
          break
        case 'assert': {
          const { what } = step
          const holds =
            what === 'start'
              ? state.begin
              : what === 'end'
                ? cls < 0
                : (what === 'word') === boundary
          if (holds) todo.push(pc + 1)
        }
      }
    }
    // No match here. A match may begin behind this character, at the first step.
    if (cls < 0) return out
    if (!this.#anchored) out.push(0)
    return out
  }

  /** Returns true when every path passes `^`, so that a match begins only at 0. */
  #beginsAnchored(): boolean {
    const todo = [0]
    const seen = new Set<number>()
    for (let pc = todo.pop(); pc !== undefined; pc = todo.pop()) {
      if (seen.has(pc)) continue
      seen.add(pc)
      const step = this.#program.steps[pc]!
      if (step.op === 'jump') todo.push(step.to)
      else if (step.op === 'fork') todo.push(step.a, step.b)
      else if (step.op !== 'assert' || step.what !== 'start') return false
    }
    return true
  }
}
