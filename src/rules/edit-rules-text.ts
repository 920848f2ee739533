import { isDeepStrictEqual } from 'node:util'
import { type Document, isAlias, isMap, isSeq, parseDocument, type YAMLMap } from 'yaml'
import { keepLines } from './keep-lines.ts'
import { parseRules } from './parse.ts'
import type { RulesFile } from './schema.ts'

/** Long lines are not broken: what was one line stays one. */
const WRITING = { lineWidth: 0 } as const

/**
 * Returns the text of a rules file with a change to what it says. Comments, order and the writing of
 * everything else stay. What comes out is read again: undefined when it does not say what is wanted.
 */
export function editRulesText(
  text: string,
  change: (document: Document) => void,
  isWanted: (file: RulesFile) => boolean,
): string | undefined {
  let candidates: readonly (string | undefined)[]
  try {
    const document = parseDocument(text)
    const before = document.toString(WRITING)
    change(document)
    const after = document.toString(WRITING)
    candidates = [keepLines(text, before, after), after]
  } catch {
    return undefined
  }
  return candidates.find((candidate) => {
    const parsed = candidate === undefined ? undefined : parseRules(candidate)
    return parsed?.ok === true && isWanted(parsed.file)
  })
}

/** The rules as they are written, or an error where they stand behind an alias. */
export function ruleNodes(document: Document): readonly YAMLMap[] {
  const rules = document.get('rules', true)
  if (!isSeq(rules)) throw new TypeError('the rules are no list of their own')
  return rules.items.map((item, index) => {
    const own: unknown = isAlias(item) ? ownCopy(document, item) : item
    if (!isMap(own)) throw new TypeError('a rule is no map')
    rules.items[index] = own
    return own
  })
}

/** The map below a key of another one, made where it is not there and never shared. */
export function mapBelow(document: Document, map: YAMLMap, key: string): YAMLMap {
  const found: unknown = map.get(key, true)
  const own: unknown = isAlias(found) ? ownCopy(document, found) : found
  if (isMap(own)) {
    if (own !== found) map.set(key, own)
    if (own.items.length === 0) own.flow = false
    return own
  }
  const made = document.createNode({}) as YAMLMap
  map.set(key, made)
  return made
}

function ownCopy(document: Document, alias: { resolve(of: Document): unknown }): unknown {
  const copy = (alias.resolve(document) as { clone(): { anchor?: string } }).clone()
  delete copy.anchor
  return copy
}

/** Whether two files say the same. */
export function saysSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other)
}
