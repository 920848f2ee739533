import { expect, it } from 'vitest'
import { rulesFile, startProgram } from '../../support/commands.ts'

const path = rulesFile(`rules:
- { name: status, match: { transport: stdio }, faults: [{ abort: { status: 503 } }] }
- { name: cut, match: { transport: stdio }, faults: [{ reset: {} }, { truncate: {} }] }
- { name: error, match: { transport: stdio }, faults: [{ abort: { rpcError: {} } }] }
- { name: any, faults: [{ abort: { status: 503 } }] }
- { name: page, match: { http: { path: /mcp } }, faults: [{ delay: { fixed: 1s } }] }
`)

it('explain says which faults need HTTP', async () => {
  const args = ['explain', path, '--transport', 'stdio', '--tool', 'a', '--json']
  const { stdout } = await startProgram(args, {}, { here: true })
  const { explained } = JSON.parse(stdout) as {
    explained: { rules: { rule: string; faults: { responses: unknown[] }[] }[] }[]
  }
  const of = (rule: string): unknown[] =>
    explained[0]!.rules.find((each) => each.rule === rule)!.faults.map(({ responses }) => responses)
  const never = [expect.objectContaining({ on: 'stdio', acts: 'no', reason: 'no_http' })]
  expect(of('status')).toEqual([never])
  expect(of('cut')).toEqual([never, never])
  expect(of('error')).toEqual([[expect.objectContaining({ on: 'stdio', acts: 'yes' })]])
})

it('validate warns where a rule is about stdio alone', async () => {
  const { stdout } = await startProgram(['validate', path], {}, { here: true })
  const warned = stdout.split('\n').filter((line) => /stdio has neither/.test(line))
  expect(warned).toHaveLength(3)
  for (const fault of ['abort', 'reset', 'truncate']) expect(warned.join('\n')).toContain(fault)
})

it('a reset at the response is left out for the reason that explain shows', async () => {
  const late = rulesFile('rules: [{ name: late, faults: [{ reset: { at: response } }] }]')
  const input = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}\n'
  const reply = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
  const args = ['stdio', '--rules', late, '--log-level', 'debug', '--', 'sh', '-c']
  const program = startProgram([...args, `read -r line; echo '${reply}'`], {}, { input })
  expect(await program.complained('a fault could not act')).toMatchObject({ reason: 'no_http' })
  expect((await program.finished()).stdout).toBe(`${reply}\n`)
})

it('the start names the faults that cannot act, as explain does, and no others', async () => {
  const rules = rulesFile(`rules:
- { name: status, match: { tool: a }, faults: [{ abort: { status: 503 } }, { delay: { fixed: 1s } }] }
- { name: page, match: { http: { path: /mcp } }, faults: [{ delay: { fixed: 1s } }] }
- { name: team, match: { headers: { x-team: a } }, faults: [{ delay: { fixed: 1s } }] }
- { name: remote, match: { transport: streamable-http }, faults: [{ delay: { fixed: 1s } }] }
- { name: error, match: { tool: a }, faults: [{ abort: { toolError: no } }] }
`)
  const program = startProgram(['stdio', '--rules', rules, '--', 'cat'], {}, { input: '' })
  const found = await program.complained(
    'faults that cannot act on stdio; squall explain shows why',
  )
  const nothing = 'the rule matches nothing there'
  expect(found).toMatchObject({
    count: 4,
    faults: [
      'status/abort: stdio has neither an HTTP status nor a connection to reset',
      `page/delay: ${nothing}`,
      `team/delay: ${nothing}`,
      `remote/delay: ${nothing}`,
    ],
  })
  await program.finished()
})
