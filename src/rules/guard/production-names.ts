import { quoted } from '../../base/text/foreign-text.ts'
import { isGlob, matchesGlob, MAX_GLOB } from '../../base/glob.ts'

/**
 * Which words of a name mean production, whatever their case. The last pattern that matches a word
 * decides; `!` excludes.
 */
export const PRODUCTION_NAMES: readonly string[] = [
  '*prod',
  '!*nonprod',
  '!*notprod',
  '!*preprod',
  '!reprod',
  'prod*',
  '!produc*',
  '!prodig*',
  'production*',
  'prd*',
  'live',
]

/** A name with where it was found, as messages call that: `the namespace`, `--environment`. */
export interface SourcedName {
  readonly where: string
  readonly name: string | undefined
}

/** A name that means production. */
export interface Production {
  readonly where: string
  readonly name: string
  readonly pattern: string
}

/** The names to check, and the patterns that mean production. */
export interface ProductionCheck {
  readonly names: readonly SourcedName[]
  readonly patterns: readonly string[]
}

/** Looks at nothing but what is added. */
export const NO_NAMES: ProductionCheck = { names: [], patterns: PRODUCTION_NAMES }

const MAX_NAME = 2_048
const WORDS = /[a-z]+/gi
/** With a border where capitals begin, as in `shopProd` and `ProdEU`. */
const CAMEL_WORDS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g
/** Words that turn the next one into its opposite: `non-prod`, `pre-production`. */
const NEGATIONS = new Set(['non', 'not', 'pre'])

/** Returns the first name that means production. */
export function findProduction(
  names: readonly SourcedName[],
  patterns: readonly string[] = PRODUCTION_NAMES,
): Production | undefined {
  for (const { where, name } of names) {
    if (name === undefined) continue
    const pattern = productionPattern(name, patterns)
    if (pattern !== undefined) return { where, name: name.trim(), pattern }
  }
  return undefined
}

/** Returns the pattern by which a name means production. */
export function productionPattern(
  name: string,
  patterns: readonly string[] = PRODUCTION_NAMES,
): string | undefined {
  const text = name.trim().slice(0, MAX_NAME)
  const found = patternOf(text, patterns)
  if (found !== undefined) return found
  const plain = withoutDisguise(text)
  return plain === text ? undefined : patternOf(plain, patterns)
}

function patternOf(text: string, patterns: readonly string[]): string | undefined {
  // A pattern with a border in it is about the whole name, and outweighs those about words.
  const whole = decide(
    text.toLowerCase(),
    patterns.filter((each) => hasBorder(each)),
  )
  if (whole !== undefined) return whole.startsWith('!') ? undefined : whole
  const words = patterns.filter((each) => !hasBorder(each))
  return wordPattern(text.match(WORDS), words) ?? wordPattern(text.match(CAMEL_WORDS), words)
}

/** Letters of other scripts that look like those of `production` and `live`. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  р: 'p',
  ρ: 'p',
  г: 'r',
  о: 'o',
  ο: 'o',
  ԁ: 'd',
  υ: 'u',
  ս: 'u',
  с: 'c',
  ϲ: 'c',
  т: 't',
  τ: 't',
  і: 'i',
  ι: 'i',
  ı: 'i',
  п: 'n',
  ո: 'n',
  ӏ: 'l',
  ѵ: 'v',
  ν: 'v',
  е: 'e',
  ε: 'e',
}
const DIGITS: Readonly<Record<string, string>> = { 0: 'o', 1: 'i', 3: 'e' }

/** Returns a name without invisible characters, accents, lookalikes and digits for letters. */
function withoutDisguise(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll(/[^ -~]/gu, (letter) => LOOKALIKES[letter.toLowerCase()] ?? letter)
    .replaceAll(/(?<=[a-z])[013](?=[a-z])/gi, (digit) => DIGITS[digit] ?? digit)
}

/** Returns the names in a URL: its host, and its path, in which gateways have their stages. */
export function urlNames(what: string, { hostname, pathname }: URL): readonly SourcedName[] {
  return [
    { where: `the host of ${what},`, name: hostname },
    { where: `the path of ${what},`, name: pathname },
  ]
}

/** Says what was matched, and where. */
export function productionText({ where, name, pattern }: Production): string {
  return `${where} ${quoted(name)} counts as production (it matches ${pattern})`
}

/** Returns what is wrong with a pattern; undefined when it is good. */
export function productionPatternProblem(pattern: string): string | undefined {
  const glob = pattern.replace(/^!/, '')
  if (/^[\w.*?/-]+$/.test(glob) && /[a-z]/i.test(glob) && glob.length <= MAX_GLOB) return undefined
  return 'write words or globs such as prod*, and !product* for exceptions'
}

function wordPattern(
  words: readonly string[] | null,
  patterns: readonly string[],
): string | undefined {
  let before = ''
  for (const each of words ?? []) {
    const word = each.toLowerCase()
    const found = NEGATIONS.has(before) ? undefined : decide(word, patterns)
    if (found !== undefined && !found.startsWith('!')) return found
    before = word
  }
  return undefined
}

/** Returns the last pattern that matches. */
function decide(text: string, patterns: readonly string[]): string | undefined {
  return patterns.findLast((pattern) => {
    const glob = pattern.replace(/^!/, '').toLowerCase()
    return isGlob(glob) ? matchesGlob(glob, text) : glob === text
  })
}

function hasBorder(pattern: string): boolean {
  return /[^a-z*?!]/i.test(pattern)
}
