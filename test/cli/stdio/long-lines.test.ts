import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { rulesFile, startProgram } from '../../support/commands.ts'

// A call whose response was too long to be read counted as a real error of the server.
it.each([
  ['in front of', '{"jsonrpc":"2.0","id":7,"result":{"content":["LONG"]}}'],
  ['behind', '{"result":{"content":["LONG"]},"jsonrpc":"2.0","id":7}'],
])('a line that is too long to be read ends its call well, with the id %s it', async (_, line) => {
  const response = line.replace('LONG', 'x'.repeat(200_000))
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'a' } })}\n`
  const log = `${rulesFile('rules: []')}.calls`
  // The first bytes come alone, and the server reads on only once they have come.
  const server = `read -r line; printf '%s' "$(head -c 1 "$0")"; sleep 0.2; tail -c +2 "$0"`
  const flags = ['--max-body', '1KiB', '--call-log', log]
  const { stdout } = await startProgram(
    ['stdio', ...flags, '--', 'sh', '-c', server, rulesFile(`${response}\n`)],
    {},
    { input },
  ).finished()
  expect(stdout).toBe(`${response}\n`)
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  expect(lines.map((each) => JSON.parse(each) as object)).toEqual([
    expect.objectContaining({ id: 7, outcome: 'ok', origin: 'real' }),
  ])
})
