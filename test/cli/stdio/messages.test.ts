import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { rulesFile, startProgram } from '../../support/commands.ts'

const call = (id: number, name: string): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name },
})
const RULES = `rules:
- { name: a, match: { tool: a }, faults: [{ abort: { rpcError: { code: -5, message: no } } }] }
- { name: b, match: { tool: b }, faults: [{ delay: { fixed: 1h } }] }
- { name: n, match: { method: notifications/cancelled }, faults: [{ amplify: { copies: 1 } }] }
`

it('one call of a batch fails, a cancelled call is not sent, and a notification comes twice', async () => {
  const cancelled = {
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 3 },
  }
  const lines = [[call(1, 'a'), call(2, 'c')], call(3, 'b'), cancelled]
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const rules = rulesFile(RULES)
  const log = `${rules}.calls`
  const echo = 'while read -r line; do echo "got $line"; done'
  const { stdout } = await startProgram(
    ['stdio', '--rules', rules, '--call-log', log, '--', 'sh', '-c', echo],
    {},
    { input },
  ).finished()
  expect(stdout.trim().split('\n').toSorted()).toEqual(
    [
      `got ${JSON.stringify([call(2, 'c')])}`,
      `got ${JSON.stringify(cancelled)}`,
      `got ${JSON.stringify(cancelled)}`,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}',
    ].toSorted(),
  )
  const ended = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(
    ended
      .map(({ id, outcome, origin }) => [id, outcome, origin])
      .toSorted(([a], [b]) => Number(a) - Number(b)),
  ).toEqual([
    [1, 'rpc_error', 'injected'],
    [2, 'incomplete', 'real'],
    [3, 'abandoned', 'injected'],
  ])
})
