import { describe, expect, it } from 'vitest'
import { refused, ruleText, faultText } from './rules-text.ts'

/** `line:column code`, with the path. */
function said(text: string): string[] {
  return refused(text).map(({ line, column, code, path }) => `${line}:${column} ${code} ${path}`)
}

describe('a position', () => {
  it.each([
    ['sede: 1', '1:1 unknown_key sede'],
    ['rules: []\n\nseed: x', '3:7 wrong_type seed'],
    ['rules: {}', '1:8 wrong_type rules'],
    ['rules: []\nrules: []', '2:1 duplicate_key '],
    ['\uFEFFrules: {}', '1:8 wrong_type rules'],
    ['version: 1\r\nseed: -1\r\n', '2:7 out_of_range seed'],
    ['{"rules": [\n\t{"name": "a"}]}', '2:2 missing_key rules[0]'],
    ['rules:\n\t- name: a', '2:1 syntax '],
    ['rules: [\n', '2:1 syntax '],
    ['rules: []\n---\nrules: []', '3:1 several_documents '],
    ['- a', '1:1 wrong_type '],
    ['text', '1:1 wrong_type '],
    ['version: 2', '1:10 bad_value version'],
    ['enabled: 1', '1:10 wrong_type enabled'],
    ['maxActive: 0', '1:12 out_of_range maxActive'],
    ['seed: 1.5', '1:7 wrong_type seed'],
    ['rules: [5]', '1:9 wrong_type rules[0]'],
    ['rules: [*a]', '1:9 syntax '],
    ['rules: &a [*a]', '1:12 syntax '],
    ['rules: !set []', '1:8 syntax '],
    ['1: x', '1:1 unknown_key 1'],
  ])('in %j is exact', (text, place) => {
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

  it.each([
    ['percent: 101', '4:14 out_of_range rules[0].percent'],
    ['percent: -1', '4:14 out_of_range rules[0].percent'],
    ['percent: 101%', '4:14 bad_value rules[0].percent'],
    ['percent: true', '4:14 wrong_type rules[0].percent'],
    ['percent: [1]', '4:14 wrong_type rules[0].percent'],
    ['percent: .nan', '4:14 wrong_type rules[0].percent'],
    ['percent:', '4:5 wrong_type rules[0].percent'],
    ['probability: 30', '4:18 out_of_range rules[0].probability'],
    ['probability: 1%', '4:18 wrong_type rules[0].probability'],
    ['first: 0', '4:12 out_of_range rules[0].first'],
    ['every: 1.5', '4:12 wrong_type rules[0].every'],
    ['times: "3"', '4:12 wrong_type rules[0].times'],
    ['burst: { rate: 5 , length: 2 }', '4:20 out_of_range rules[0].burst.rate'],
    ['burst: { rate: 90%, length: 2 }', '4:20 out_of_range rules[0].burst.rate'],
    ['burst: { rate: 5% }', '4:12 missing_key rules[0].burst'],
    ['stickyBy: sesion', '4:15 bad_value rules[0].stickyBy'],
    ['stickyBy: { header: "" }', '4:25 bad_value rules[0].stickyBy.header'],
    ['from: tomorrow', '4:11 bad_value rules[0].from'],
    ['from: 2026-02-30T00:00:00Z', '4:11 bad_value rules[0].from'],
    ['from: 2026-03-01T09:00:00', '4:11 bad_value rules[0].from'],
    ['for: 5', '4:10 wrong_type rules[0].for'],
    ['for: 5 minutes', '4:10 bad_value rules[0].for'],
    ['for: 0s', '4:5 out_of_range rules[0].for'],
    ['for: 31d', '4:10 bad_value rules[0].for'],
    ['ramp: { to: 5%, over: 0s }', '4:27 out_of_range rules[0].ramp.over'],
    ['pods: 200%', '4:11 bad_value rules[0].pods'],
    ['then: go', '4:11 bad_value rules[0].then'],
    ['dryRun: "yes"', '4:13 wrong_type rules[0].dryRun'],
    ['match: { method: { regex: ^notifications/ } }', '4:22 conflict rules[0].match.method'],
    ['match: { method: notifications/message }', '4:22 conflict rules[0].match.method'],
    ['match: { direction: server }', '4:14 conflict rules[0].match.direction'],
    ['match: { direction: both, method: ping }', '4:25 bad_value rules[0].match.direction'],
    ['match: { direction: server, method: tools/call }', '4:41 conflict rules[0].match.method'],
    [
      'match: { any: [{ method: ping, direction: server }] }',
      '4:36 conflict rules[0].match.any[0].direction',
    ],
    ['match: { direction: server, http: { path: /x } }', '4:14 conflict rules[0].match.direction'],
    ['match: { tool: [] }', '4:20 bad_value rules[0].match.tool'],
    ['match: { tool: 5 }', '4:20 wrong_type rules[0].match.tool'],
    ['match: { tool: "" }', '4:20 bad_value rules[0].match.tool'],
    ['match: { tool: [a, 5] }', '4:24 wrong_type rules[0].match.tool[1]'],
    ['match: { tool: { regex: "(" } }', '4:29 bad_value rules[0].match.tool.regex'],
    ['match: { tool: { regex: "(?=a)" } }', '4:29 bad_value rules[0].match.tool.regex'],
    ['match: { tool: { regex: a, not: b } }', '4:20 bad_value rules[0].match.tool'],
    ['match: { tool: {} }', '4:20 bad_value rules[0].match.tool'],
    ['match: { tool: { not: { not: 5 } } }', '4:34 wrong_type rules[0].match.tool.not.not'],
    ['match: { headers: { x-a: 3 } }', '4:30 wrong_type rules[0].match.headers.x-a'],
    ['match: { headers: { "x a": b } }', '4:25 bad_value rules[0].match.headers["x a"]'],
    ['match: { headers: { x-a: b, X-A: c } }', '4:33 duplicate_key rules[0].match.headers.X-A'],
    ['match: { headers: {} }', '4:23 bad_value rules[0].match.headers'],
    ['match: { headers: { x-a: {} } }', '4:30 bad_value rules[0].match.headers.x-a'],
    ['match: { args: { city: Oslo } }', '4:22 bad_value rules[0].match.args.city'],
    ['match: { args: { /a~2: b } }', '4:22 bad_value rules[0].match.args["/a~2"]'],
    ['match: { args: { /a: [1] } }', '4:26 wrong_type rules[0].match.args["/a"]'],
    ['match: { args: { /a: { gt: "1" } } }', '4:32 wrong_type rules[0].match.args["/a"].gt'],
    ['match: { args: { /a: { gt: 2, lt: 1 } } }', '4:35 conflict rules[0].match.args["/a"].lt'],
    ['match: { protocolVersion: new }', '4:31 bad_value rules[0].match.protocolVersion'],
    ['match: { transport: sse }', '4:25 bad_value rules[0].match.transport'],
    ['match: { client: {} }', '4:22 bad_value rules[0].match.client'],
    ['match: { http: {} }', '4:20 bad_value rules[0].match.http'],
    ['match: { http: { method: post } }', '4:30 bad_value rules[0].match.http.method'],
    ['match: { http: { path: api } }', '4:28 bad_value rules[0].match.http.path'],
    ['match: { http: { status: 99 } }', '4:30 out_of_range rules[0].match.http.status'],
    ['match: { http: { status: 6xx } }', '4:30 bad_value rules[0].match.http.status'],
    ['match: { any: [] }', '4:19 bad_value rules[0].match.any'],
    ['match: { any: [{ tol: x }] }', '4:22 unknown_key rules[0].match.any[0].tol'],
    ['match: [a]', '4:12 wrong_type rules[0].match'],
  ])('in a rule with %s is exact', (keys, place) => {
    expect(said(ruleText(keys))).toEqual([place])
  })

  it.each([
    ['{ delay: { fixed: 2 } }', '3:34 wrong_type rules[0].faults[0].delay.fixed'],
    ['{ delay: {} }', '3:18 conflict rules[0].faults[0].delay'],
    ['{ delay: }', '3:18 wrong_type rules[0].faults[0].delay'],
    ['delay', '3:16 wrong_type rules[0].faults[0]'],
    ['{}', '3:16 bad_value rules[0].faults[0]'],
    ['{ delay: { jitter: 1s } }', '3:18 conflict rules[0].faults[0].delay'],
    ['{ delay: { fixed: 2h } }', '3:27 conflict rules[0].faults[0].delay.fixed'],
    ['{ delay: { fixed: 1s, at: never } }', '3:42 bad_value rules[0].faults[0].delay.at'],
    ['{ abort: {} }', '3:18 conflict rules[0].faults[0].abort'],
    [
      '{ abort: { status: 503, toolError: x } }',
      '3:40 conflict rules[0].faults[0].abort.toolError',
    ],
    ['{ abort: { toolError: x, body: y } }', '3:41 conflict rules[0].faults[0].abort.body'],
    ['{ hang: { keepAlive: true } }', '3:26 conflict rules[0].faults[0].hang.keepAlive'],
    [
      '{ reset: { at: stream, after: { bytes: 1B, events: 1 } } }',
      '3:59 conflict rules[0].faults[0].reset.after.events',
    ],
    ['{ throttle: { rate: 0B } }', '3:30 conflict rules[0].faults[0].throttle.rate'],
    ['{ corrupt: { mode: flip } }', '3:35 bad_value rules[0].faults[0].corrupt.mode'],
    ['{ abort: { status: 100 } }', '3:35 out_of_range rules[0].faults[0].abort.status'],
    [
      '{ abort: { rpcError: { code: x } } }',
      '3:45 wrong_type rules[0].faults[0].abort.rpcError.code',
    ],
  ])('in a fault %s is exact', (fault, place) => {
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
  it.each([
    ['percent: 5\n    probability: 0.5', '5:5', 'probability'],
    ['ramp: { to: 5, over: 1s }\n    stages: [1]\n    each: 1s', '5:5', 'stages'],
    ['stages: [1]', '4:5', 'stages'],
    ['each: 1s', '4:5', 'each'],
    ['percent: 5\n    stages: [1]\n    each: 1s', '4:5', 'percent'],
    ['from: 2026-03-01T09:00:00Z\n    until: 2026-03-01T09:00:00Z', '5:5', 'until'],
    ['first: 1\n    burst: { rate: 5%, length: 3 }', '4:5', 'first'],
    ['burst: { rate: 5%, length: 3 }\n    every: 2', '5:5', 'every'],
    ['match: { tool: a, prompt: b }', '4:23', 'match.prompt'],
    ['match: { method: ping, tool: a }', '4:28', 'match.tool'],
    ['match: { http: { path: /a }, prompt: b }', '4:34', 'match.prompt'],
    ['match: { all: [{ http: { path: /a } }, { args: { /b: 1 } }] }', '4:46', 'match.all[1].args'],
    [
      'match: { headers: { x-a: { absent: true, prefix: b } } }',
      '4:46',
      'match.headers.x-a.prefix',
    ],
    ['match: { session: { present: true, absent: true } }', '4:40', 'match.session.absent'],
  ])('%j is refused', (keys, place, path) => {
    expect(said(ruleText(keys))).toEqual([`${place} conflict rules[0].${path}`])
  })

  it('two rules of one name are refused at the second', () => {
    const rule = '  - { name: a, faults: [{ abort: { status: 500 } }] }\n'
    expect(refused(`rules:\n${rule}${rule}`)).toEqual([
      {
        code: 'duplicate_name',
        message: 'rules[0] is called "a" as well',
        path: 'rules[1].name',
        found: 'a',
        line: 3,
        column: 13,
      },
    ])
  })
})

describe('all mistakes', () => {
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
      '6:29 bad_value rules[0].match.tool.regex',
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
    expect(refused(`rules:\n${rules.join('\n')}`).length).toBe(200)
  })

  it('never speak of the schema', () => {
    const text = ruleText('match: { tool: 5, args: { /a: [] }, client: 3, http: { status: {} } }')
    for (const { message } of refused(text)) expect(message).not.toMatch(/schema|oneOf|anyOf|must /)
  })
})
