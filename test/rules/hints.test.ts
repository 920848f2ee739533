import { describe, expect, it } from 'vitest'
import { FAULTS } from '../../src/filters/index.ts'
import { sentence } from '../../src/rules/file/problem.ts'
import { editDistance, nearestName } from '../../src/base/nearest-name.ts'
import { rejected, ruleText, faultText } from './rules-text.ts'

const FAULT_NAMES = FAULTS.map(({ name }) => name)

function sentences(text: string): string {
  return rejected(text).map(sentence).join('\n')
}

describe('a misspelt name', () => {
  it.each([
    [ruleText('percnt: 5'), 'did you mean `percent`?'],
    [ruleText('max_active: 5'), 'did you mean `maxActive`?'],
    [ruleText('probabilty: 5'), 'did you mean `probability`?'],
    [ruleText('match: { tol: x }'), 'did you mean `tool`?'],
    [ruleText('match: { header: { x: y } }'), 'did you mean `headers`?'],
    [faultText('{ dealy: { fixed: 1s } }'), 'did you mean `delay`?'],
    [faultText('{ delay: { fixd: 1s } }'), 'did you mean `fixed`?'],
    [ruleText('stickyBy: sesion'), 'did you mean `session`?'],
    [ruleText('match: { transport: streamable_http }'), 'did you mean `streamable-http`?'],
    [ruleText('match: { method: tool/call }'), 'did you mean `tools/call`?'],
    [ruleText('match: { method: [ping, resource/read] }'), 'did you mean `resources/read`?'],
    [ruleText('match: { method: Tools/Call }'), 'did you mean `tools/call`?'],
    [faultText('{ delay: { min: 1s, max: 2s } }'), '`uniform: { min: 1s, max: 2s }`'],
    [faultText('{ rewrite: { path: /a, type: string } }'), '`retype: { /humidity: string }`'],
    [faultText('{ cut: { after: 3 } }'), 'write `truncate`'],
  ])('in %j is reported with the nearest one', (text, hint) => {
    expect(sentences(text)).toContain(hint)
  })

  it('unlike any known one is reported with the allowed ones', () => {
    expect(sentences(faultText('{ banana: {} }'))).toBe(
      `rules[0].faults[0].banana: unknown fault "banana"; allowed: ${FAULT_NAMES.join(', ')}`,
    )
  })

  it.each(['{ banana: {} }', 'banana'])(
    'of a fault, %s, is reported with the known ones',
    (fault) => {
      const [problem, ...more] = rejected(faultText(fault))
      expect(more).toEqual([])
      expect(problem).toMatchObject({ code: 'unknown_fault', allowed: FAULT_NAMES })
    },
  )

  it.each([
    ['delay', 'wrong_type', 'for example `- delay: { fixed: 2s, jitter: 500ms }`'],
    ['dealy', 'wrong_type', 'for example `- delay: { fixed: 2s, jitter: 500ms }`'],
    ['rateLimt', 'unknown_fault', 'did you mean `rateLimit`?'],
  ])(
    'of a fault written as its name alone, %s, is reported with how to write it',
    (fault, code, hint) => {
      expect(rejected(faultText(fault))).toMatchObject([{ code, hint }])
    },
  )
})

describe('a misplaced key', () => {
  it.each([
    [ruleText('tool: x'), 'write `tool` under `match`'],
    [ruleText('seed: 1'), '`seed` belongs to the file'],
    [ruleText('delay: { fixed: 1s }'), 'write faults in the list `faults`: `- delay: …`'],
    [ruleText('match: { percent: 5 }'), 'write `percent` on the rule'],
    [faultText('{ fixed: 2s }'), '`fixed` is a parameter of `delay`'],
    [faultText('{ delay: { fixed: 2s, percent: 5 } }'), 'write `percent` on the rule'],
    ['percent: 5', '`percent` belongs to a rule in `rules`'],
    ['faults: []', 'each rule in `rules` has its own `faults`'],
  ])('%j is reported with where it belongs', (text, hint) => {
    expect(sentences(text)).toContain(hint)
  })

  it.each([
    [ruleText('for: 5'), 'add the unit'],
    [ruleText('match: { headers: { x-a: 3 } }'), 'write it in quotes: "3"'],
    [ruleText('match: { headers: { x-a: true } }'), 'write it in quotes: "true"'],
    [ruleText('match: { args: { filter.city: x } }'), 'did you mean `/filter/city`?'],
    [ruleText('match: { http: { method: get } }'), 'did you mean `GET`?'],
    [faultText('delay'), 'for example `- delay: {'],
  ])('%j is reported with how to write it', (text, hint) => {
    expect(sentences(text)).toContain(hint)
  })
})

describe('a key of another tool', () => {
  it.each([
    ['fault: { delay: {} }', '`faults`'],
    ['percentage: { value: 10 }', '`percent: 10`'],
    ['toxicity: 0.5', '`probability: 0.5`'],
    ['attributes: { latency: 1000 }', '`delay: { fixed: 1s, jitter: 100ms }`'],
    ['stream: downstream', '`at: response`'],
    ['type: latency', '`- delay: { fixed: 1s }`'],
    ['tools: [x]', '`match: { tool: [a, b] }`'],
    ['rate: 0.02', '`probability: 0.02`'],
    ['duration: 5m', '`for: 15m`'],
    ['mode: fixed-percent', '`pods: 10%`'],
    ['after_calls: 3', '`after: 3`'],
    ['added_ms: 4000', '`delay: { fixed: 4s }`'],
  ])('on a rule, %s, is reported with the name that Squall uses', (keys, hint) => {
    const reported = rejected(ruleText(keys)).map((problem) => problem.hint)
    expect(reported.length).toBe(1)
    expect(reported[0]).toContain(hint)
  })

  it.each([
    ['{ delay: { fixedDelay: 5s } }', '`delay: { fixed: 5s }`'],
    ['{ delay: { percentage: { value: 10 } } }', '`percent: 10`'],
    ['{ delay: { duration: 5s } }', '`fixed: 5s`'],
    ['{ delay: { jitter_ms: 5 } }', '`jitter'],
    ['{ abort: { httpStatus: 500 } }', '`abort: { status: 503 }`'],
    ['{ abort: { http_status: 500 } }', '`abort: { status: 503 }`'],
    ['{ abort: { code: 500 } }', '`status: 503`'],
    ['{ latency: 100 }', '`delay: { fixed: 1s }`'],
    ['latency', '`delay: { fixed: 1s }`'],
  ])('in a fault, %s, is reported with the name that Squall uses', (fault, hint) => {
    expect(rejected(faultText(fault))[0]!.hint).toContain(hint)
  })

  it('of Kubernetes is reported to be a manifest', () => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: {}\n'
    expect(sentences(text)).toContain('Kubernetes manifest')
  })
})

describe('the distance of two names', () => {
  it.each([
    ['delay', 'delay', 0],
    ['dealy', 'delay', 1],
    ['', 'abc', 3],
    ['abort', 'about', 1],
    ['kitten', 'sitting', 3],
  ])('of %s and %s is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance)
    expect(editDistance(b, a)).toBe(distance)
  })

  it('keeps names apart that share next to nothing', () => {
    expect(nearestName('xyz', ['for', 'each'])).toBeUndefined()
    expect(nearestName('x'.repeat(10_000), ['for'])).toBeUndefined()
    expect(nearestName('', ['for'])).toBeUndefined()
  })
})
