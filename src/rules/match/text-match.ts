import { isGlob, matchesGlob } from '../../base/glob.ts'
import { SafeRegex } from '../../base/regex/safe-regex.ts'

/** A name, method or path: exact text, glob, list of these, expression, or negation. */
export type TextSpec =
  | string
  | readonly TextSpec[]
  | { readonly regex: string; readonly not?: undefined }
  | { readonly not: TextSpec; readonly regex?: undefined }

/** Returns true for a text that a rule means. */
export interface TextMatcher {
  /** In words, for people. */
  readonly wants: string
  /** Texts that match as they stand. */
  readonly exact: readonly string[]
  readonly globs: readonly string[]
  /** Expressions and negations. Empty when the lists above are complete. */
  readonly others: readonly ((text: string) => boolean)[]
  test(text: string): boolean
}

/** Reads a text match; throws a `RegexError`. */
export function compileText(spec: TextSpec): TextMatcher {
  const exact: string[] = []
  const globs: string[] = []
  const others: ((text: string) => boolean)[] = []
  collect(spec, exact, globs, others)
  const set: ReadonlySet<string> | undefined = exact.length > 4 ? new Set(exact) : undefined
  return {
    wants: describe(spec),
    exact,
    globs,
    others,
    test(text) {
      if (set === undefined ? exact.includes(text) : set.has(text)) return true
      for (const glob of globs) if (matchesGlob(glob, text)) return true
      for (const other of others) if (other(text)) return true
      return false
    },
  }
}

function collect(
  spec: TextSpec,
  exact: string[],
  globs: string[],
  others: ((text: string) => boolean)[],
): void {
  if (typeof spec === 'string') {
    const list = isGlob(spec) ? globs : exact
    if (!list.includes(spec)) list.push(spec)
  } else if (isList(spec)) {
    for (const element of spec) collect(element, exact, globs, others)
  } else if (spec.regex !== undefined) {
    const regex = new SafeRegex(spec.regex)
    others.push((text) => regex.test(text))
  } else {
    const inner = compileText(spec.not)
    others.push((text) => !inner.test(text))
  }
}

function describe(spec: TextSpec): string {
  if (typeof spec === 'string') return spec
  if (isList(spec)) return spec.map((element) => describe(element)).join(' or ')
  return spec.regex !== undefined ? `/${spec.regex}/` : `not ${describe(spec.not)}`
}

function isList(spec: TextSpec): spec is readonly TextSpec[] {
  return Array.isArray(spec)
}

/** Returns the match of one exact name, in which wildcards have no meaning. */
export function exactName(name: string): string | { readonly regex: string } {
  return isGlob(name) ? { regex: `^${escaped(name)}$` } : name
}

const SPECIAL = /[.*+?^${}()|[\]\\/-]/g

/** Returns a text as a regular expression that matches it alone. */
export function escaped(text: string): string {
  return text.replace(SPECIAL, '\\$&')
}
