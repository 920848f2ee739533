import { describe, expect, it } from 'vitest'
import { CONFLICTS, INVALID_FAULTS, INVALID_FILES, INVALID_RULES } from './invalid-files.ts'
import { rejected, ruleText, faultText } from './rules-text.ts'

/** `line:column code`, with the path. */
function said(text: string): string[] {
  return rejected(text).map(({ line, column, code, path }) => `${line}:${column} ${code} ${path}`)
}

describe('a position', () => {
  it.each(INVALID_FILES)('in %j is exact', (text, place) => {
    const [first, ...more] = said(text)
    expect(first?.replace('["1"]', '1')).toBe(place)
    expect(place.includes('syntax') ? [] : more).toEqual([])
  })

  it('is found under a key that holds a line break', () => {
    const key = String.raw`"/a\nb"`
    expect(said(ruleText(`match: { args: { ${key}: { nonsense: 1 } } }`))).toEqual([
      String.raw`4:33 unknown_key rules[0].match.args["/a\nb"].nonsense`,
    ])
  })

  it.each(INVALID_RULES)('in a rule with %s is exact', (keys, place) => {
    expect(said(ruleText(keys))).toEqual([place])
  })

  it.each(INVALID_FAULTS)('in a fault %s is exact', (fault, place) => {
    expect(said(faultText(fault))[0]).toBe(place)
  })

  it('in what an alias stands for is where it is written', () => {
    const text =
      'rules:\n  - { name: a, faults: &f [{ abort: { status: 1 } }] }\n  - { name: b, faults: *f }\n'
    expect(said(text)).toEqual([
      '2:47 out_of_range rules[0].faults[0].abort.status',
      '2:47 out_of_range rules[1].faults[0].abort.status',
    ])
  })
})

describe('a combination that cannot be', () => {
  it.each(CONFLICTS)('%j is rejected', (keys, place, path) => {
    expect(said(ruleText(keys))).toEqual([`${place} conflict rules[0].${path}`])
  })

  it('two rules of one name are rejected at the second', () => {
    const rule = '  - { name: a, faults: [{ abort: { status: 500 } }] }\n'
    expect(rejected(`rules:\n${rule}${rule}`)).toEqual([
      {
        code: 'duplicate_name',
        message: 'duplicate name "a" (first in rules[0])',
        path: 'rules[1].name',
        found: 'a',
        line: 3,
        column: 13,
      },
    ])
  })
})

describe('all errors', () => {
  it('of a file are reported at once, in order', () => {
    const text = `sede: 1
rules:
  - name: a
    percent: 300
    probability: 0.5
    match: { tool: { regex: "(" }, prompt: x }
    faults: [{ delay: { fixd: 1s } }, { abort: {} }, { abort: { status: 503, toolError: x } }]
  - name: a
    for: 5
seed: x
seed: 1
`
    expect(said(text)).toEqual([
      '1:1 unknown_key sede',
      '4:14 out_of_range rules[0].percent',
      '5:5 conflict rules[0].probability',
      '6:29 invalid_value rules[0].match.tool.regex',
      '6:36 conflict rules[0].match.prompt',
      '7:25 unknown_key rules[0].faults[0].delay.fixd',
      '7:41 conflict rules[0].faults[1].abort',
      '7:78 conflict rules[0].faults[2].abort.toolError',
      '8:5 missing_key rules[1]',
      '8:11 duplicate_name rules[1].name',
      '9:10 wrong_type rules[1].for',
      '11:1 duplicate_key ',
    ])
  })

  it('are cut off at two hundred', () => {
    const rules = Array.from({ length: 300 }, (_, index) => `  - { name: r${index}, fualts: [] }`)
    expect(rejected(`rules:\n${rules.join('\n')}`).length).toBe(200)
  })

  it('never speak of the schema', () => {
    const text = ruleText('match: { tool: 5, args: { /a: [] }, client: 3, http: { status: {} } }')
    for (const { message } of rejected(text)) expect(message).not.toMatch(/schema|oneOf|anyOf/)
  })
})
