import * as fc from 'fast-check'
import { ANY_CHARACTER } from '../support/any-character.ts'

/** A file in order, with something of everything. */
export const FILE = `seed: 42
rules:
  - name: slow-search
    match: { tool: "search_*", headers: { x-n: { prefix: a } }, protocolVersion: ">=2025-03-26" }
    percent: 30
    for: 15m
    faults: &f
      - delay: { fixed: 2s, jitter: 500ms, at: response }
  - name: flaky-db
    match:
      any: [{ tool: [a, { regex: "^l(a|b)+$" }] }, { args: { /city: { gt: 3 } } }]
    burst: { rate: 5%, length: 10 }
    from: 2026-03-01T09:00:00Z
    faults: *f
  - name: page
    match: { http: { path: "/api/*", status: [5xx, 404] } }
    faults: [{ abort: { rpcError: { code: 1, data: [null] } } }]
`
const SNIPPETS = [
  [
    '\t',
    '\n',
    '\r',
    ' ',
    '  ',
    ':',
    ': ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '#',
    '&f ',
    '*f',
  ],
  [
    '|\n',
    '>\n',
    '---\n',
    '...\n',
    '%',
    '!!set ',
    '? ',
    '<<: ',
    '~',
    'null',
    'true',
    '.inf',
    '.nan',
  ],
  ['-1', '1e999', '0x10', '9007199254740993', '101%', '5s', '\u0000', '\uFEFF', '\u2028', '\ud800'],
  [
    '💥',
    '__proto__: x\n',
    'constructor',
    'x'.repeat(3000),
    '(',
    '(a*)*',
    '[[[[[[',
    'delay: ',
    'name: a\n',
  ],
].flat()

const edit = fc.record({
  at: fc.nat(FILE.length),
  drop: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(80)),
  add: fc.oneof(
    fc.constant(''),
    fc.constantFrom(...SNIPPETS),
    fc.string({ maxLength: 4, unit: ANY_CHARACTER }),
  ),
})
/** That file's text after a few careless edits. */
export const mutated: fc.Arbitrary<string> = fc
  .array(edit, { minLength: 1, maxLength: 4 })
  .map((edits) =>
    edits.reduce(
      (text, { at, drop, add }) => text.slice(0, at) + add + text.slice(at + drop),
      FILE,
    ),
  )
