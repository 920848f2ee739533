import { expect, it } from 'vitest'
import { rulesFile, startProgram } from '../../support/commands.ts'

const path = rulesFile(`rules:
- { name: status, match: { transport: stdio }, faults: [{ abort: { status: 503 } }] }
- { name: cut, match: { transport: stdio }, faults: [{ reset: {} }, { truncate: {} }] }
- { name: error, match: { transport: stdio }, faults: [{ abort: { rpcError: {} } }] }
- { name: any, faults: [{ abort: { status: 503 } }] }
- { name: page, match: { http: { path: /mcp } }, faults: [{ delay: { fixed: 1s } }] }
`)

interface Outlook {
  readonly rule: string
  readonly matches: boolean
  readonly faults: readonly { readonly responses: unknown[] }[]
}

it('explain says which faults need HTTP', async () => {
  const args = ['explain', path, '--transport', 'stdio', '--tool', 'a', '--json']
  const { stdout } = await startProgram(args, {}, { here: true })
  const { explained } = JSON.parse(stdout) as {
    explained: { rules: Outlook[] }[]
  }
  const all = explained[0]!.rules
  const of = (rule: string): unknown[] =>
    all.find((each) => each.rule === rule)!.faults.map(({ responses }) => responses)
  const never = [expect.objectContaining({ on: 'stdio', acts: 'no', reason: 'no_http' })]
  expect(of('status')).toEqual([never])
  expect(of('cut')).toEqual([never, never])
  expect(of('error')).toEqual([[expect.objectContaining({ on: 'stdio', acts: 'yes' })]])
  expect(all.find(({ rule }) => rule === 'page')).toMatchObject({ matches: false })
})

it('explain matches what the program matches, which has no HTTP and one session', async () => {
  const rules = rulesFile(`rules:
- { name: page, match: { http: { method: POST } }, then: stop, faults: [{ hang: {} }] }
- { name: typed, match: { headers: { content-type: application/json } }, faults: [{ delay: { fixed: 1ms } }] }
- { name: plain, match: { headers: { content-type: { absent: true } } }, faults: [{ delay: { fixed: 1ms } }] }
- { name: alone, match: { session: { absent: true } }, faults: [{ delay: { fixed: 1ms } }] }
- { name: held, match: { session: { present: true } }, faults: [{ delay: { fixed: 1ms } }] }
`)
  const line = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'
  const recorded = rulesFile(line)
  const stdio = [
    'stdio',
    '--rules',
    rules,
    '--log-injections',
    'all',
    '--',
    'sh',
    '-c',
    'read -r l',
  ]
  const program = startProgram(stdio, {}, { input: `${line}\n` })
  const injected = (await program.finished()).stderr.matchAll(/"rule":"(\w+)"/g)
  const matching = [...new Set([...injected].map(([, rule]) => rule!))]
  expect(matching).toEqual(['plain', 'held'])
  for (const call of [
    ['--tool', 'a'],
    ['--request', recorded],
  ]) {
    const args = ['explain', rules, '--transport', 'stdio', '--json', ...call]
    const { stdout } = await startProgram(args, {}, { here: true })
    const { explained } = JSON.parse(stdout) as { explained: { rules: Outlook[] }[] }
    const matched = explained[0]!.rules.filter(({ matches }) => matches)
    expect(matched.map(({ rule }) => rule)).toEqual(matching)
  }
})

it('explain rejects flags of HTTP', async () => {
  const args = ['explain', path, '--transport', 'stdio', '--tool', 'a', '--header', 'x-team=a']
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toContain('--header has no effect with --transport stdio')
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
- { name: far, match: { outbound: { host: db } }, faults: [{ delay: { fixed: 1s } }] }
- { name: remote, match: { transport: streamable-http }, faults: [{ delay: { fixed: 1s } }] }
- { name: error, match: { tool: a }, faults: [{ abort: { toolError: no } }] }
`)
  const program = startProgram(['stdio', '--rules', rules, '--', 'cat'], {}, { input: '' })
  const found = await program.complained(
    'faults that cannot act on stdio; squall explain shows why',
  )
  const nothing = 'the rule matches nothing there'
  expect(found).toMatchObject({
    count: 5,
    faults: [
      'status/abort: stdio has neither an HTTP status nor a connection to reset',
      `page/delay: ${nothing}`,
      `team/delay: ${nothing}`,
      `far/delay: ${nothing}`,
      `remote/delay: ${nothing}`,
    ],
  })
  await program.finished()
})
