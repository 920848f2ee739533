// part: slow
import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Finished, portOf, rulesFile, startProgram } from '../../support/commands.ts'

const ask = (id: unknown): string => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`
const reply = (id: unknown): string => `${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`

/** Lets a server that prints `output` read `input`. */
function checked(input: string, output: string, end = ''): Promise<Finished> {
  const script = `cat >/dev/null; printf '%s' "$1"; ${end}`
  const args = ['stdio', '--fail-on-violation', '--', 'sh', '-c', script, 'sh', output]
  return startProgram(args, {}, { input }).finished()
}

/** Returns the violations in the log: those of each line, and their number. */
function violations({ stderr }: Finished): readonly unknown[] {
  const lines = stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  return lines.flatMap(({ reason, line, violations: counts }) =>
    reason === undefined ? (counts ?? []) : `${JSON.stringify(line)} ${JSON.stringify(reason)}`,
  )
}

it('reports each violation with its line, and fails; the lines pass', async () => {
  const output = `Starting\n${reply(1)}${reply(1)}{"a":1}\n\n["jsonrpc":]\n${reply('2')}{"jsonrpc"`
  const ended = await checked(ask(1) + ask(2), output)
  expect([ended.code, ended.stdout]).toEqual([1, output])
  expect(violations(ended)).toEqual([
    '1 "not_json"',
    '3 "unknown_id"',
    '4 "not_json_rpc"',
    '6 "not_json"',
    '7 "unknown_id"',
    '8 "no_line_feed"',
    { not_json: 2, unknown_id: 2, not_json_rpc: 1, no_line_feed: 1 },
  ])
})

it('shows the number of violations in metrics while the server runs', async () => {
  const script = `printf 'Starting\\noops\\n'; cat >/dev/null`
  const args = ['stdio', '--fail-on-violation', '--admin', '127.0.0.1:0', '--', 'sh', '-c', script]
  const program = startProgram(args, {}, { open: true })
  const port = portOf(await program.complained('admin listening'))
  await program.complained('the server violates the protocol')
  await expect
    .poll(async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
    .toContain('squall_stdio_violations_total{reason="not_json"} 2\n')
  program.child.stdin?.end()
  expect((await program.ended).code).toBe(1)
})

it('accepts a server that keeps the protocol, and its exit code where it fails', async () => {
  const batch = `[${ask('a').trim()},${ask(0).trim()}]\n`
  const fine =
    `[${reply(0).trim()},${reply('a').trim()}]\n` +
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}\n' +
    '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\r\n'
  const [passed, failed] = await Promise.all([
    checked(batch, fine),
    checked('', 'oops\n', 'exit 3'),
  ])
  expect([passed.code, violations(passed)]).toEqual([0, [{}]])
  expect(failed.code).toBe(3)
})

it('compares ids of any length', async () => {
  const long = 'x'.repeat(20_000)
  const ended = await checked(ask(long), reply(`${long}y`) + reply(long) + reply(long))
  expect([ended.code, violations(ended)]).toEqual([
    1,
    ['1 "unknown_id"', '3 "unknown_id"', { unknown_id: 2 }],
  ])
})

it('takes a response for each of several requests with one id', async () => {
  const ended = await checked(ask(1) + ask(1), reply(1) + reply(1))
  expect([ended.code, violations(ended)]).toEqual([0, [{}]])
})

it('suspects no id after a request that it could not read', async () => {
  const ended = await checked('not a message\n', reply(7))
  expect([ended.code, violations(ended)]).toEqual([0, [{}]])
})

it('finds nothing in a line that ends because a fault kills the server', async () => {
  const rules = rulesFile(
    'rules: [{ name: r, match: { tool: a }, faults: [{ process: { exit: 0 } }] }]',
  )
  const params = { name: 'a' }
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`
  const server = ['sh', '-c', `printf '{"a":'; echo printed >&2; exec cat`]
  const args = ['stdio', '--fail-on-violation', '--rules', rules, '--', ...server]
  const program = startProgram(args, {}, { open: true })
  await eventually(() => (program.stderr().includes('printed') ? undefined : 'not printed'))
  program.child.stdin?.write(input)
  const ended = await program.finished()
  expect([ended.code, ended.stdout, violations(ended)]).toEqual([0, '{"a":', [{}]])
})
