import { MAX_ITEMS } from '../file/document-bounds.ts'
import { MAX_FILE_BYTES, MAX_PROBLEMS } from '../file/parse.ts'
import type { Finding, Path, ProblemCode } from '../file/problem.ts'

/** The kinds of notes on a conversion. */
export const NOTE_KINDS = ['unknown', 'left_out', 'changed'] as const
export type NoteKind = (typeof NOTE_KINDS)[number]

/** A value of the source, with its path. */
export interface Item {
  readonly value: unknown
  readonly path: Path
}

/** Reports a field that was not carried over, or not exactly. */
export interface FoundNote {
  readonly kind: NoteKind
  readonly message: string
  readonly path: Path
  readonly atKey?: boolean
}

/** One rule in the words of the rules file, with the object from which it comes. */
export interface Draft {
  readonly name: string
  readonly path: Path
  readonly keys: Readonly<Record<string, unknown>>
  readonly comment: string | undefined
}

/** The values of the file, beside its rules. */
export interface FileKeys {
  seed?: number
  maxActive?: number
}

const MAX_NOTES = 500
const MORE_NOTES = 'has more such fields; convert a part of the file to see them'
/** The longest name of a rule has 63 characters, of which a number may need some. */
const MAX_SLUG = 57
const MAX_COMMENT = 2000

/** Collects the results of a conversion: rules, notes, and errors that reject the file. */
export class Report {
  readonly problems: Finding[] = []
  readonly notes: FoundNote[] = []
  readonly drafts: Draft[] = []
  readonly file: FileKeys = {}
  /** The lines above the rules. */
  readonly comments: string[] = []
  #size = 0
  readonly #names = new Set<string>()
  readonly #counts = new Map<string, number>()

  problem(code: ProblemCode, message: string, path: Path, atKey = false): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ code, message, path, atKey })
  }

  note(kind: NoteKind, message: string, path: Path, atKey = false): void {
    if (this.notes.length < MAX_NOTES) this.notes.push({ kind, message, path, atKey })
    else if (!this.isFull) this.notes.push({ kind: 'left_out', message: MORE_NOTES, path: [] })
  }

  /** Adds a text of the source as a comment. */
  comment(text: string): void {
    this.comments.push(text.slice(0, MAX_COMMENT))
  }

  /** True when further notes are not kept. */
  get isFull(): boolean {
    return this.notes.length > MAX_NOTES
  }

  /** True when the rules are more than a file may have; no further ones are kept. */
  get isTooLarge(): boolean {
    return this.#size > MAX_FILE_BYTES || this.drafts.length > MAX_ITEMS
  }

  /**
   * Adds a rule. With `doubts`, reasons why it might act on more calls than the source, it is
   * written disabled.
   */
  rule(
    { path, doubts }: { readonly path: Path; readonly doubts: readonly string[] },
    name: string,
    keys: Readonly<Record<string, unknown>>,
  ): void {
    if (this.isTooLarge) return
    const why = doubts.length === 0 ? undefined : `Disabled: ${[...new Set(doubts)].join('; ')}.`
    this.#size += JSON.stringify(keys).length
    this.drafts.push({
      name: this.#unique(name),
      path,
      keys: why === undefined ? keys : { enabled: false, ...keys },
      comment: why,
    })
    if (this.isTooLarge)
      this.problem('too_large', 'results in more rules than a file may have', path)
  }

  #unique(name: string): string {
    const slug = name
      .slice(0, MAX_COMMENT)
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+|-+$/g, '')
      .slice(0, MAX_SLUG)
    const base = slug === '' ? 'rule' : slug
    let count = this.#counts.get(base) ?? 0
    let unique: string
    do {
      count++
      unique = count === 1 ? base : `${base}-${count}`
    } while (this.#names.has(unique))
    this.#counts.set(base, count)
    this.#names.add(unique)
    return unique
  }
}
