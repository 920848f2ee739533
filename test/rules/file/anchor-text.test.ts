import { describe, expect, it } from 'vitest'
import { anchorText, targetText } from '../../../src/rules/file/applied-text.ts'
import { parseRules } from '../../../src/rules/file/parse.ts'

const AT = Date.UTC(2026, 2, 1, 9, 0, 0, 123)
const HOUR = 3_600_000

const RULES = `# yaml-language-server: $schema=./rules.schema.json

# Slow logins, as in March.
seed: 7
rules:
  - name: slow   # the login
    match: { tool: 'login' }
    for: 20s
    faults: [ { delay: { fixed: 2s } } ]


  - name: broken
    faults:
    - abort: { status: 503 }
`

/** The lines that a text has and another has not. */
const added = (before: string, after: string): string[] => {
  const lines = before.split('\n')
  return after.split('\n').filter((line) => {
    const at = lines.indexOf(line)
    if (at < 0) return true
    lines.splice(at, 1)
    return false
  })
}

describe('the time of rules', () => {
  it('is one line more, and all others stay as they were', () => {
    const text = anchorText(RULES, { now: AT })!
    expect(added(RULES, text)).toEqual(['appliedAt: 2026-03-01T09:00:00Z'])
    expect(added(text, RULES)).toEqual([])
    expect(text).toContain('seed: 7\nappliedAt: ')
    const short = '# About it all.\nrules: [{ name: a, faults: [hang] }]\n'
    expect(anchorText(short, { now: AT })).toMatch(/^# About it all.\nappliedAt: .*\nrules: /)
    expect(text.startsWith('# yaml-language-server: $schema=./rules.schema.json\n')).toBe(true)
  })

  it('follows a byte order mark', () => {
    const text = `\ufeff${RULES.slice(RULES.indexOf('rules:'))}`
    const line = 'appliedAt: 2026-03-01T09:00:00Z\n'
    expect(anchorText(text, { now: AT })).toBe(text.replace('\ufeff', `\ufeff${line}`))
  })

  it('stays for rules that stay, whatever else changes', () => {
    const first = anchorText(RULES, { now: AT })!
    expect(anchorText(RULES, { now: AT + HOUR, before: first })).toBe(first)
    const changed = RULES.replace('503', '504')
    const second = anchorText(changed, { now: AT + HOUR, before: first })!
    expect(added(changed, second)).toEqual([
      'appliedAt: 2026-03-01T10:00:00Z',
      '    appliedAt: 2026-03-01T09:00:00Z',
    ])
    expect(second.indexOf('09:00:00Z')).toBeLessThan(second.indexOf('broken'))
    expect(anchorText(changed, { now: AT + 2 * HOUR, before: second })).toBe(second)
  })

  it('is that of the text before, where nobody wrote one', () => {
    const text = anchorText(RULES, { now: AT, before: RULES, beforeAt: AT - HOUR })!
    expect(text).toContain('appliedAt: 2026-03-01T08:00:00Z')
  })

  it('is left alone where it is written by hand, and where there are no rules', () => {
    const own = `appliedAt: 2020-01-01T00:00:00Z\n${RULES}`
    expect(anchorText(own, { now: AT })).toBe(own)
    expect(anchorText('enabled: false\n', { now: AT })).toBe('enabled: false\n')
    expect(anchorText('rules: [', { now: AT })).toBe('rules: [')
  })

  it('begins anew, with an end, where rules last a given time', () => {
    const first = anchorText(RULES, { now: AT })!
    const text = anchorText(RULES, { now: AT + HOUR, before: first, lasts: HOUR / 2 })!
    expect(added(RULES, text)).toEqual([
      'appliedAt: 2026-03-01T10:00:00Z',
      'until: 2026-03-01T10:30:00Z',
    ])
  })

  it.each([
    ['JSON', '{ "rules": [{ "name": "a", "faults": ["hang"] }] }'],
    ['one line', 'rules: [{ name: a, faults: [hang] }]'],
    ['aliases', 'rules:\n- &one\n  name: a\n  faults: &f [hang]\n- name: b\n  faults: *f\n'],
    ['a list at the margin', 'rules:\n- name: a\n  faults: [hang]\n'],
    ['CR LF', 'rules:\r\n  - name: a\r\n    faults: [hang]\r\n'],
  ])('can be written into %s', (_, text) => {
    expect(anchorText(text, { now: AT })).toContain('2026-03-01T09:00:00Z')
  })
})

describe('the pods of rules', () => {
  it('are written into every rule, and all other lines stay', () => {
    const targeted = targetText(RULES, { app: 'a', 'app.kubernetes.io/name': 'true' })
    const text = targeted.ok ? targeted.text : ''
    expect(added(text, RULES)).toEqual(["    match: { tool: 'login' }"])
    expect(text).toContain(
      'match: { podLabels: { app: a, app.kubernetes.io/name: "true" }, tool: \'login\' }',
    )
    expect(text.match(/app\.kubernetes\.io\/name: "true"/g)).toHaveLength(2)
    expect(text).toContain('# the login')
    expect(text).toContain('\n\n\n')
    expect(targetText(text, { app: 'a' })).toEqual({ ok: true, text })
  })

  it('are given to rules that share a match by an alias', () => {
    const text =
      'rules:\n- name: a\n  match: &m { tool: x }\n  faults: [hang]\n- name: b\n  match: *m\n  faults: [hang]\n'
    const targeted = targetText(text, { app: 'a' })
    const parsed = parseRules(targeted.ok ? targeted.text : '')
    const labels = parsed.ok && parsed.file.rules.map(({ match }) => match?.podLabels)
    expect(labels).toEqual([{ app: 'a' }, { app: 'a' }])
  })

  it('cannot be others than those that a rule names itself', () => {
    const text = 'rules: [{ name: a, match: { podLabels: { app: b } }, faults: [hang] }]'
    expect(targetText(text, { app: 'a' })).toMatchObject({
      ok: false,
      wrong: expect.stringContaining('the rule a selects pods with app=b'),
    })
  })
})
