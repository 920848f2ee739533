import { describe, expect, it } from 'vitest'
import { plain, quoted } from '../../../src/base/text/foreign-text.ts'
import {
  githubLines,
  type Problem,
  problemLines,
  problemsJson,
  sentence,
} from '../../../src/rules/file/problem.ts'
import { pathText, shownValue } from '../../../src/rules/file/problem.ts'

const problem: Problem = {
  code: 'unknown_key',
  message: 'unknown key "percnt"',
  path: 'rules[0].percnt',
  line: 4,
  column: 5,
  found: 'percnt',
  allowed: ['name', 'percent'],
  hint: 'did you mean `percent`?',
}

describe('problems', () => {
  it('are lines as compilers write them', () => {
    expect(
      problemLines({ file: 'rules.yaml', problems: [problem, { ...problem, path: '' }] }),
    ).toBe(
      'rules.yaml:4:5: rules[0].percnt: unknown key "percnt"; did you mean `percent`?\n' +
        'rules.yaml:4:5: unknown key "percnt"; did you mean `percent`?\n',
    )
    expect(problemLines({ file: 'rules.yaml', problems: [] })).toBe('')
  })

  it('without a hint say what is allowed', () => {
    const { hint: _, ...bare } = problem
    expect(sentence(bare)).toBe('rules[0].percnt: unknown key "percnt"; allowed: name, percent')
    const many = { ...bare, allowed: Array.from({ length: 30 }, (_each, index) => `k${index}`) }
    expect(sentence(many)).toMatch(/k19, …$/)
    expect(sentence({ ...bare, message: 'must be a or b; got c' })).not.toContain('allowed')
  })

  it('are annotations whose text cannot end them', () => {
    const file = 'dir,a:b%/r.yaml'
    const problems = [{ ...problem, message: '100%: a::b', path: '' }]
    expect(githubLines({ file, problems })).toBe(
      '::error file=dir%2Ca%3Ab%25/r.yaml,line=4,col=5,title=Squall rules%3A unknown_key::' +
        '100%25: a::b; did you mean `percent`?\n',
    )
    const hostile = { ...problem, message: 'a\n::set-output name=x::y', path: 'x\r\ny' }
    expect(githubLines({ file: 'a\nb', problems: [hostile] }).split('\n').length).toBe(2)
  })

  it('are one JSON document', () => {
    const files = [
      { file: 'a', problems: [] },
      { file: 'b', problems: [problem] },
    ]
    expect(JSON.parse(problemsJson(files))).toEqual({
      ok: false,
      files: [
        { file: 'a', ok: true, problems: [] },
        { file: 'b', ok: false, problems: [problem] },
      ],
    })
    expect(JSON.parse(problemsJson([]))).toEqual({ ok: true, files: [] })
  })
})

describe('what is shown', () => {
  it('is a path as a person writes it', () => {
    expect(pathText([])).toBe('')
    expect(pathText(['rules', 0, 'match', 'headers', 'x-a'])).toBe('rules[0].match.headers.x-a')
    expect(pathText(['args', '/a"b'])).toBe('args["/a\\"b"]')
  })

  it('is short and on one line', () => {
    expect(quoted('a\nb')).toBe('"a\\nb"')
    expect(quoted('x'.repeat(1000)).length).toBeLessThan(90)
    expect(plain('a\u202eb\u001bc\u2028')).toBe('a\\u{202e}b\\u{1b}c\\u{2028}')
    expect([null, [], {}, 'a', 5, true].map((value) => shownValue(value))).toEqual([
      'nothing',
      'a list',
      'an object',
      '"a"',
      '5',
      'true',
    ])
  })
})
