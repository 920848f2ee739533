import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkOutcome } from '../fuzz/targets/outcome.ts'
import { rounds } from '../support/rounds.ts'

/** Stands for more than is always parsed. */
const PAD = '\u0001'

/** Other calls than `tools/call`, with the same id. */
const TASK = 0x12
const MODERN_TASK = 0x96

/**
 * Returns the outcome, and whether the body was outlined. The first byte of an input selects its
 * call: 0 is number 1 of `tools/call`.
 */
function outcome(text: string, choice = 0): string {
  const { kind } = checkOutcome(Buffer.concat([Buffer.of(choice), Buffer.from(text)]))
  return kind.split(' ', 2).join(' ')
}

test('a large response is judged as it would be if it was always parsed', () => {
  const member = fc.oneof(
    fc.constantFrom('"jsonrpc":"2.0"', '"id":1', '"id":2', '"id": 1', '"id":1.0', '"id":"1"'),
    fc.constantFrom('"result":{}', '"result":{"isError":true}', '"result":null', '"result":[]'),
    fc.constantFrom('"result":{"id":1,"jsonrpc":"2.0"}', '"result":{"a":{},"id":1}'),
    fc.constantFrom('"error":{"code":1}', '"error":null', '"\\u0065rror":{}', '"method":"a"'),
    fc.jsonValue({ maxDepth: 3 }).map((value) => `"x":${JSON.stringify(value)}`),
    fc.constantFrom(`"pad":"${PAD}"`, '"\\u006dethod":1', '"result":{"is\\u0045rror":true}'),
  )
  const usual = fc.constantFrom('"jsonrpc":"2.0"', '"id":1', `"result":{"a":"${PAD}"}`)
  const members = fc
    .tuple(
      fc.uniqueArray(usual, { minLength: 3, maxLength: 3 }),
      fc.array(member, { maxLength: 3 }),
    )
    .chain(([first, others]) => fc.shuffledSubarray([...first, ...others], { minLength: 3 }))
  const end = fc.constantFrom('', '', '\n', ' ', '\r\n', ',', '}')
  const gap = fc.constantFrom(',', ',', ', ', ',\n')
  let ok = 0
  fc.assert(
    fc.property(
      members,
      gap,
      end,
      fc.constantFrom(0, 0, 1, 4, TASK, MODERN_TASK),
      (parts, comma, last, choice) => {
        if (outcome(`{${parts.join(comma)}}${last}`, choice).startsWith('ok outlined')) ok++
      },
    ),
    { numRuns: rounds(500, 1_500) },
  )
  expect(ok).toBeGreaterThan(rounds(3, 10))
})

test.each([
  ['ok outlined', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"}}`],
  ['ok outlined', `{"result":{"a":"${PAD}"},"jsonrpc":"2.0","id":1}`],
  ['ok outlined', `{"jsonrpc": "2.0", "id": 1, "result": {"a": "${PAD}"}}\n`],
  ['ok outlined', `{"jsonrpc":"2.0","id":1,"result":{"text":"\\"error\\" \\"isError\\" ${PAD}"}}`],
  ['ok parsed', `\u{feff}{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"}}`],
  ['incomplete outlined', `{"jsonrpc":"2.0","id":2,"result":{"id":1,"a":"${PAD}"}}`],
  ['incomplete parsed', `{"id":2,"result":{"a":"${PAD}","jsonrpc":"2.0","id":1}}`],
  ['incomplete outlined', `{"jsonrpc":"2.0","result":{"a":"${PAD}","b":{},"id":1},"id":2}`],
  ['incomplete parsed', `{"x":{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"}}}`],
  ['incomplete parsed', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"},"metho\\u0064":1}`],
  ['rpc_error parsed', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"},"erro\\u0072":{}}`],
  ['tool_error parsed', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}","isErro\\u0072":true}}`],
  ['incomplete parsed', `{"jsonrpc":"1.0","id":1,"result":{"a":"${PAD}"}}`],
  ['incomplete parsed', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"},"method":{}}`],
  ['incomplete parsed', `{"jsonrpc":"2.0","id":1,"params":{"result":{},"a":"${PAD}"}}`],
  ['incomplete outlined', `{"jsonrpc":"2.0","id":"1","result":{"a":"${PAD}"}}`],
  ['incomplete parsed', `{"jsonrpc":"2.0","id":1,"\u{e9}":{"result":{"a":"${PAD}"}}}`],
  ['rpc_error parsed', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"},"error":{}}`],
  ['rpc_error parsed', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}"},"\\u0065rror":{}}`],
  ['tool_error parsed', `{"jsonrpc":"2.0","id":1,"result":{"a":"${PAD}","isError":true}}`],
  [
    'tool_error parsed',
    `{"jsonrpc":"2.0","id":1,"result":{"isError":false,"a":"${PAD}","isError":true}}`,
  ],
])('a large response is %s: %s', (expected, text) => {
  expect(outcome(text)).toBe(expected)
})

test('a large task says of itself how it ended', () => {
  const task = (rest: string): string =>
    `{"jsonrpc":"2.0","id":1,"result":{"status":"failed","a":"${PAD}"${rest}}}`
  expect(outcome(task(''), TASK)).toBe('ok outlined')
  expect(outcome(task(''), MODERN_TASK)).toBe('tool_error outlined')
  expect(outcome(task(',"error":{}'), MODERN_TASK)).toBe('rpc_error outlined')
})

test('a response is outlined from a size on', () => {
  for (let size = 2_048 - 60; size < 2_048 + 4; size++) {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"a":""}}'
    const padded = text.replace('""', `"${'x'.repeat(size - text.length)}"`)
    expect(outcome(padded)).toBe(padded.length < 2_048 ? 'ok parsed' : 'ok outlined')
  }
})
