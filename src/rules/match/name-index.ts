import type { HeaderLines } from '../../http/headers.ts'
import type { CompiledRule } from './compiled-rule.ts'
import { globPrefix, globSuffix, matchesGlob } from '../../base/glob.ts'
import { LiteralTrie } from '../../base/literal-trie.ts'
import type { Reach } from './match-node.ts'
import { isTooLong } from '../../base/regex/safe-regex.ts'
import type { TextMatcher } from './text-match.ts'
import { isHeader } from './header-test.ts'
import { headerIs } from './match-tests.ts'
import { readHeaderText } from '../select/selection.ts'

/** So few rules are tested one by one as fast as they are looked up. */
const FEW = 4

/**
 * Rules that the same calls may match. Where there are many, those that want one value of a header
 * are looked up by it: a file often has the same rule for many values of the same header.
 */
class Bucket {
  readonly #always: CompiledRule[] = []
  readonly #byHeader: HeaderValues[] = []

  /** `rules` are in file order. */
  constructor(rules: readonly CompiledRule[]) {
    for (const rule of rules) {
      const wanted =
        rules.length <= FEW
          ? undefined
          : rule.tests.map(headerIs).find((found) => found !== undefined)
      if (wanted === undefined) this.#always.push(rule)
      else this.#file(wanted.header, wanted.only, rule)
    }
  }

  /** Adds the rules that a call with these headers may match. */
  gather(headers: HeaderLines, into: Candidates): void {
    into.add(this.#always)
    for (let i = 0; i < this.#byHeader.length; i++) lookUp(this.#byHeader[i]!, headers, into)
  }

  #file(name: string, value: string, rule: CompiledRule): void {
    let values = this.#byHeader.find((known) => known.name === name)
    if (values === undefined) {
      values = { name, rules: new Map() }
      this.#byHeader.push(values)
    }
    const rules = values.rules.get(value)
    if (rules === undefined) values.rules.set(value, [rule])
    else rules.push(rule)
  }
}

/** Callers choose names, so that what is remembered of them is bounded in number and size. */
const MAX_REMEMBERED = 1024
const MAX_REMEMBERED_NAME = 256

interface Pattern {
  readonly rule: CompiledRule
  readonly matcher: TextMatcher
}

const NONE = new Bucket([])

/**
 * Finds the rules of one method by a call's name, at a cost that does not grow with their number.
 */
export class NameIndex {
  readonly #exact = new Map<string, Bucket>()
  readonly #any: Bucket
  readonly #byPrefix = new LiteralTrie<Pattern & { glob: string }>(false)
  readonly #bySuffix = new LiteralTrie<Pattern & { glob: string }>(true)
  /** Expressions, negations, and globs that begin and end with a wildcard: tried one by one. */
  readonly #others: (Pattern & { test: (name: string) => boolean })[] = []
  #hasPatterns = false
  /** The matches of patterns for names that were looked up before. */
  readonly #remembered = new Map<string, Bucket>()

  readonly #after: NameIndex | undefined

  /** `rules` are in file order, each with what it takes; those of `after` follow them. */
  constructor(
    rules: readonly { readonly rule: CompiledRule; readonly reach: Reach }[],
    after?: NameIndex,
  ) {
    this.#after = after
    const any: CompiledRule[] = []
    const exact = new Map<string, CompiledRule[]>()
    for (const { rule, reach } of rules) {
      if (reach === false) continue
      if (reach === true) {
        any.push(rule)
        continue
      }
      for (const name of reach.exact) {
        const known = exact.get(name)
        if (known === undefined) exact.set(name, [rule])
        else known.push(rule)
      }
      this.#addPatterns({ rule, matcher: reach })
    }
    this.#any = new Bucket(any)
    for (const [name, list] of exact) this.#exact.set(name, new Bucket(list))
  }

  /** Adds the rules that a call may match. */
  gather(name: string | undefined, headers: HeaderLines, into: Candidates): void {
    this.#after?.gather(name, headers, into)
    this.#any.gather(headers, into)
    if (name === undefined) return
    this.#exact.get(name)?.gather(headers, into)
    if (this.#hasPatterns) this.#patternsFor(name).gather(headers, into)
  }

  #addPatterns({ rule, matcher }: Pattern): void {
    for (const glob of matcher.globs) {
      this.#hasPatterns = true
      const prefix = globPrefix(glob)
      const suffix = globSuffix(glob)
      if (prefix !== '') this.#byPrefix.add(prefix, { rule, matcher, glob })
      else if (suffix !== '') this.#bySuffix.add(suffix, { rule, matcher, glob })
      else this.#addOther(rule, matcher, (name) => matchesGlob(glob, name))
    }
    for (const other of matcher.others) this.#addOther(rule, matcher, other)
  }

  #addOther(rule: CompiledRule, matcher: TextMatcher, test: (name: string) => boolean): void {
    this.#hasPatterns = true
    this.#others.push({ rule, matcher, test })
  }

  #patternsFor(name: string): Bucket {
    if (name.length > MAX_REMEMBERED_NAME) return this.#findPatterns(name)
    const known = this.#remembered.get(name)
    if (known !== undefined) return known
    const found = this.#findPatterns(name)
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(name, found)
    return found
  }

  #findPatterns(name: string): Bucket {
    const found = new Set<CompiledRule>()
    // The rules' own tests count values that are too long for globs and expressions.
    const isLeft = isTooLong(name)
    const check = ({ rule, matcher, glob }: Pattern & { glob: string }): void => {
      if ((isLeft || matchesGlob(glob, name)) && !matcher.exact.includes(name)) found.add(rule)
    }
    this.#byPrefix.walk(name, check)
    this.#bySuffix.walk(name, check)
    for (const { rule, matcher, test } of this.#others) {
      // The exact names of a rule have led to it already.
      if (!matcher.exact.includes(name) && (isLeft || test(name))) found.add(rule)
    }
    if (found.size === 0) return NONE
    return new Bucket([...found].sort((a, b) => a.index - b.index))
  }
}

interface HeaderValues {
  readonly name: string
  readonly rules: Map<string, CompiledRule[]>
}

function lookUp({ name, rules }: HeaderValues, lines: HeaderLines, into: Candidates): void {
  let first: string | undefined
  let more: Set<string> | undefined
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (!isHeader(key, name)) continue
    const value = readHeaderText(name, lines[i + 1]!)
    // A duplicate line must not add its rules twice.
    if (first === value || more?.has(value) === true) continue
    if (first === undefined) first = value
    else (more ??= new Set()).add(value)
    const found = rules.get(value)
    if (found !== undefined) into.add(found)
  }
}

/**
 * Walks several lists of rules, each in file order, as one list in file order. Made once, used
 * again.
 */
export class Candidates {
  readonly #lists: (readonly CompiledRule[])[] = []
  readonly #at: number[] = []
  #count = 0
  /** True when what led to the rules need not be tested again. */
  isExact = false

  /** True when there is no rule to walk to. */
  get isEmpty(): boolean {
    return this.#count === 0
  }

  clear(isExact = false): void {
    this.#count = 0
    this.isExact = isExact
  }

  /** One list more. No rule may be in two. */
  add(rules: readonly CompiledRule[]): void {
    if (rules.length === 0) return
    this.#lists[this.#count] = rules
    this.#at[this.#count++] = 0
  }

  /** The next rule in file order; undefined behind the last. */
  next(): CompiledRule | undefined {
    let best: CompiledRule | undefined
    let from = -1
    for (let i = 0; i < this.#count; i++) {
      const rule = this.#lists[i]![this.#at[i]!]
      if (rule !== undefined && (best === undefined || rule.index < best.index)) {
        best = rule
        from = i
      }
    }
    if (from >= 0) this.#at[from]!++
    return best
  }
}
