import { describe, expect, it } from 'vitest'
import { findsIn, GRAMMAR, type GrammarRule } from './grammar-rules.ts'
import { passagesOf } from './passages.ts'
import { texts } from './project-texts.ts'

/** Returns the finds in a text with their lines and what to write. */
function findsOf(path: string, text: string): readonly string[] {
  return passagesOf(path, text).flatMap((passage) =>
    GRAMMAR.flatMap((rule) =>
      findsIn(rule, passage).map(({ index, 0: words }) => {
        const before = passage.text.slice(0, index).split('\n')
        const shown = `${before.at(-1)!.slice(-30)}${words}`.replaceAll(/\s+/g, ' ').trim()
        const line = passage.line + before.length - 1
        return `${path}:${line}: ${rule.name}: “${shown.slice(0, 100)}” write it like: ${rule.write}`
      }),
    ),
  )
}

it('no text reads like a translation', () => {
  expect([...texts].flatMap(([path, text]) => findsOf(path, text))).toEqual([])
})

function isFound(rule: GrammarRule, text: string): boolean {
  return findsIn(rule, { kind: rule.reads ?? 'prose', line: 1, text }).length > 0
}

describe.each(GRAMMAR)('$name', (rule) => {
  it('finds its examples', () => {
    for (const text of rule.found) expect(isFound(rule, text), text).toBe(true)
  })

  it('has a way to write them that no rule finds', () => {
    const others = GRAMMAR.filter(({ reads }) => reads === rule.reads)
    for (const text of others.flatMap(({ fine }) => fine))
      expect(isFound(rule, text), text).toBe(false)
  })
})
