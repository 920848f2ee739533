// part: slow
import { expect, it } from 'vitest'
import { rulesFile, startProgram } from '../../support/commands.ts'

/** All forms of lines; `cat` sends them back as messages of the server. */
const LINES = [
  '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
  '{"jsonrpc":"2.0",  "method":"notifications/initialized" }\r\n',
  '\n\r\n',
  'Listening on stdio\n',
  '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]\n',
  '{"a":\r"lone"}\n',
  '\u0010 data: {} :> é\n',
  `${'\r\u0010'.repeat(100_000)}\n`,
  `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"text":"${'x'.repeat(10 * 1024 * 1024)}"}}}\n`,
  '{"jsonrpc":"2.0","method":"notifications/last"}',
]
const NO_MATCH = `rules:
- { name: none, match: { tool: other }, faults: [{ hang: {} }] }
- { name: silent, match: { direction: server, method: notifications/progress }, faults: [{ hang: {} }] }
`

it.each([
  ['without rules', []],
  ['with rules that match nothing', ['--rules', rulesFile(NO_MATCH)]],
  ['when most lines are too long to be read', ['--max-body', '1KiB']],
])('passes every byte in both directions %s', async (_, options) => {
  const input = LINES.join('')
  const program = startProgram(['stdio', ...options, '--', 'cat'], {}, { input })
  const { code, stdout } = await program.finished()
  // A failed comparison of large texts would be printed whole.
  expect(stdout === input, stdout.slice(0, 2_000)).toBe(true)
  expect(code).toBe(0)
})

it('counts the calls in flight', async () => {
  const input = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}\n'
  const script = ['--admin', '127.0.0.1:0', '--', 'sh', '-c', 'cat >/dev/null']
  const program = startProgram(['stdio', ...script], {}, { input, open: true })
  const { address } = await program.complained('admin listening')
  const metrics = async (): Promise<string> =>
    (await fetch(`http://${String(address)}/metrics`)).text()
  await expect.poll(metrics, { timeout: 30_000 }).toMatch(/squall_in_flight_requests 1/)
  program.child.stdin?.end()
  expect((await program.ended).code).toBe(0)
})

it('counts lines that are not read', async () => {
  const script = 'cat >/dev/null; sleep 0.3; cat /dev/null'
  const input = `${'x'.repeat(2_000)}\nno json\n{"jsonrpc":"2.0"}\n`
  const program = startProgram(
    ['stdio', '--max-body', '1KiB', '--admin', '127.0.0.1:0', '--', 'sh', '-c', script],
    {},
    { input, open: true },
  )
  const line = await program.complained('admin listening')
  const metrics = async (): Promise<string> =>
    (await fetch(`http://${String(line['address'])}/metrics`)).text()
  await expect.poll(metrics).toMatch(/unclassified_total\{reason="not_json_rpc"\} 1/)
  const text = await metrics()
  expect(text).toMatch(/unclassified_total\{reason="not_json"\} 1/)
  expect(text).toMatch(/unclassified_total\{reason="too_large"\} 1/)
  program.child.stdin?.end()
  expect((await program.ended).code).toBe(0)
})
