import { describe, expect, it } from 'vitest'
import { MAX_FILE_BYTES, parseRules } from '../../src/rules/file/parse.ts'
import { accepted, rejected, ruleText } from './rules-text.ts'
import { rounds } from '../support/rounds.ts'

/**
 * Some files here are a part of what they are where there are many rounds, and still beyond each
 * bound.
 */
const SMALLER = rounds(24, 1)

function codes(text: string | Uint8Array): string[] {
  return rejected(text).map(({ code }) => code)
}

describe('a hostile file', () => {
  it('of more than 1 MiB is rejected unread', () => {
    expect(codes('#'.repeat(MAX_FILE_BYTES + 1))).toEqual(['too_large'])
    expect(codes(Buffer.alloc(10 * MAX_FILE_BYTES, '['))).toEqual(['too_large'])
    expect(codes('é'.repeat(MAX_FILE_BYTES / 2 + 1))).toEqual(['too_large'])
    expect(accepted('#'.repeat(MAX_FILE_BYTES)).rules).toEqual([])
  })

  it('that is no UTF-8 is rejected', () => {
    expect(codes(Buffer.from([0xff, 0xfe, 0x41]))).toEqual(['not_utf8'])
    expect(codes(Buffer.from('rules: "\xe9"', 'latin1'))).toEqual(['not_utf8'])
  })

  it.each([
    ['brackets', '['.repeat(1_000_000)],
    ['braces', '{a: '.repeat(200_000)],
    ['dashes', '- '.repeat(500_000)],
    ['question marks', '? '.repeat(300_000)],
    ['lines', Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
    ['closed brackets', `a: ${'['.repeat(5000)}${']'.repeat(5000)}`],
  ])('of endlessly nested %s is rejected', (_, text) => {
    expect(codes(text)).toEqual(['too_deep'])
  })

  it('whose aliases multiply is rejected', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]']
    for (const [index, name] of 'bcdefghi'.split('').entries()) {
      lines.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(', ')}]`)
    }
    expect(codes(lines.join('\n'))).toEqual(['too_many'])
  })

  it('whose aliases nest deeper than the text is rejected', () => {
    const lines = ['a0: &a0 [x]']
    for (let i = 1; i < 60; i++) lines.push(`a${i}: &a${i} [*a${i - 1}]`)
    expect(codes(lines.join('\n'))).toEqual(['too_deep'])
  })

  it('with an alias inside of what it stands for is rejected', () => {
    expect(codes('rules: &a\n  - *a')).toEqual(['syntax'])
    expect(codes('rules: &a [&b { name: *a }]')).toEqual(['syntax'])
  })

  it.each([
    ['keys', Array.from({ length: 60_000 / SMALLER }, (_, index) => `k${index}: 1`).join('\n')],
    ['entries', `rules:\n${'- a\n'.repeat(200_000 / SMALLER)}`],
    ['nothings', `rules:\n${'-\n'.repeat(300_000 / SMALLER)}`],
    ['aliases', `a: &a 1\nrules:\n${'- *a\n'.repeat(150_000 / SMALLER)}`],
  ])('of too many %s is rejected', (_, text) => {
    expect(codes(text)).toEqual(['too_many'])
  })

  it('of thousands of invalid rules is rejected with some of its errors', () => {
    const rules = Array.from(
      { length: 5000 / SMALLER },
      (_, index) => `- { nam: r${index}, match: { tool: [5] } }`,
    )
    expect(rejected(`rules:\n${rules.join('\n')}`).length).toBe(200)
  })

  it('of thousands of documents is rejected, or empty', () => {
    expect(accepted('---\n'.repeat(100_000 / SMALLER)).rules).toEqual([])
    expect(codes('--- a\n'.repeat(1000))).toEqual(['several_documents'])
  })

  it('with keys of the language itself is rejected and changes nothing', () => {
    expect(codes('__proto__: { polluted: 1 }')).toEqual(['unknown_key'])
    expect(codes('constructor: { prototype: { polluted: 1 } }')).toEqual(['unknown_key'])
    expect(codes('rules: [{ name: a, faults: [{ __proto__: {} }] }]')).toEqual(['unknown_fault'])
    expect(codes('rules: [{ name: a, faults: [constructor] }]')).toEqual(['unknown_fault'])
    const { match } = accepted(
      ruleText('match: { args: { /a: { exact: { __proto__: { polluted: 1 } } } } }'),
    ).rules[0]!
    expect(JSON.stringify(match)).toContain('__proto__')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('with a pattern that could take for ever is rejected, or read by an engine that cannot', () => {
    expect(codes(ruleText('match: { tool: { regex: "(a)\\\\1" } }'))).toEqual(['invalid_value'])
    expect(codes(ruleText(`match: { tool: { regex: "${'a'.repeat(1001)}" } }`))).toEqual([
      'out_of_range',
    ])
    expect(codes(ruleText('match: { tool: { regex: "((a{900}){900}){900}" } }'))).toEqual([
      'invalid_value',
    ])
    expect(parseRules(ruleText('match: { tool: { regex: "^(a+)+$" } }')).ok).toBe(true)
  })

  it('with a glob that is too long is rejected', () => {
    expect(codes(ruleText(`match: { tool: "${'a*'.repeat(300)}" }`))).toEqual(['invalid_value'])
  })

  it('cannot write control characters into what is shown', () => {
    const [problem] = rejected('"\\e[31m\\u202e\\n": 1')
    expect(`${problem!.message}${problem!.path}`).toMatch(/^[ -~]*$/)
  })
})
