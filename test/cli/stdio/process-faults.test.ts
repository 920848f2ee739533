// part: slow
import { existsSync } from 'node:fs'
import { describe, it } from 'vitest'
import {
  type Finished,
  portOf,
  rulesFile,
  startProgram,
  stdioClient,
  throughSquall,
  timesOfCalls,
} from '../../support/commands.ts'

const call = (id: number, name: string): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })}\n`
const reply = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n`

const ruled = (fault: string): string =>
  rulesFile(`rules: [{ name: r, match: { tool: bad }, faults: [${fault}] }]`)

/** A server that responds to each line with the reply of the same number. */
const SERVER = `i=0; while read -r line; do i=$((i+1)); printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\\n' $i; done`

/** Sends a second call when the first one has its response. */
async function afterFirst(fault: string): Promise<Finished> {
  const args = ['stdio', '--rules', ruled(fault), '--', 'sh', '-c', SERVER]
  const program = startProgram(args, {}, { open: true, input: call(1, 'good') })
  await program.firstLine()
  program.child.stdin?.end(call(2, 'bad'))
  return program.finished()
}

function finished(fault: string, input: string): Promise<Finished> {
  const args = ['stdio', '--rules', ruled(fault), '--', 'sh', '-c', SERVER]
  return startProgram(args, {}, { input }).finished()
}

describe.concurrent('the process of a server', () => {
  it('ends before it gets the call, or in the middle of its response', async ({ expect }) => {
    const [before, within] = await Promise.all([
      afterFirst('{ process: { exit: 9 } }'),
      afterFirst('{ process: { exit: 3, at: response } }'),
    ])
    expect([before.code, before.stdout]).toEqual([9, reply(1)])
    const half = reply(2).slice(0, Math.ceil((reply(2).length - 1) / 2))
    expect([within.code, within.stdout]).toEqual([3, reply(1) + half])
    expect(within.stderr).toContain('"effect":"exit 3"')
  })

  it('does not end for the response to a message that has none', async ({ expect }) => {
    const input = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    const rules = rulesFile(`rules:
- { name: r, match: { method: [notifications/initialized] }, faults: [{ process: { exit: 3, at: response } }] }
`)
    const args = ['stdio', '--rules', rules, '--', 'sh', '-c', 'cat >&2; echo "{}"']
    const { code, stdout, stderr } = await startProgram(args, {}, { input }).finished()
    expect([code, stdout]).toEqual([0, '{}\n'])
    expect(stderr).toContain(input)
  })

  it('prints lines that are no messages', async ({ expect }) => {
    const { code, stdout } = await finished(
      '{ process: { print: "Listening\\n[" } }',
      call(1, 'good') + call(2, 'bad'),
    )
    expect(code).toBe(0)
    expect(stdout.split('\n').toSorted()).toEqual(
      ['', '[', 'Listening', reply(1).trim(), reply(2).trim()].toSorted(),
    )
    expect(stdout).toContain('Listening\n[\n')
  })

  it('prints no more than a bound for a client that does not read', async ({ expect }) => {
    const text = 'x'.repeat(16_000)
    const rules = ruled(`{ process: { print: ${text} } }`)
    const options = ['--rules', rules, '--admin', '127.0.0.1:0']
    const args = ['stdio', ...options, '--', 'sh', '-c', 'cat >/dev/null']
    const program = startProgram(args, {}, { open: true })
    program.child.stdout?.pause()
    const port = portOf(await program.complained('admin listening'))
    program.child.stdin?.write(Array.from({ length: 200 }, (_, id) => call(id, 'bad')).join(''))
    const counted = async (result: string): Promise<number> => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      const [, count] =
        new RegExp(`^squall_rule_\\S+result="${result}"\\S* (\\d+)$`, 'm').exec(metrics) ?? []
      return Number(count ?? 0)
    }
    const all = async (): Promise<number> =>
      (await counted('injected')) + (await counted('not_applicable'))
    await expect.poll(all, { timeout: 20_000 }).toBe(200)
    const printed = await counted('injected')
    expect(printed * text.length).toBeLessThan(1_000_000)
    program.child.stdin?.end()
    program.child.stdout?.resume()
    const { stdout } = await program.finished()
    expect(stdout.split('\n').filter((line) => line === text)).toHaveLength(printed)
  })

  it('ends the line with a response by CRLF, and changes no other', async ({ expect }) => {
    const input = call(1, 'good') + call(2, 'bad') + call(3, 'good')
    const { stdout } = await finished('{ process: { crlf: true } }', input)
    // A response that a fault changes may be overtaken.
    expect(stdout.split('\n').toSorted()).toEqual(
      ['', reply(1).trim(), `${reply(2).trim()}\r`, reply(3).trim()].toSorted(),
    )
  })

  it('starts slowly for a client whose handshake a delay holds', async ({ expect }) => {
    const rules = `rules: [{ name: r, match: { method: initialize }, faults: [{ delay: { fixed: 500ms } }] }]`
    const since = performance.now()
    const client = await stdioClient('v1', throughSquall(['--rules', rulesFile(rules)]))
    expect(performance.now() - since).toBeGreaterThan(490)
    expect(await client.call('echo', { text: 'a' })).toHaveProperty('content')
    await client.close()
  })

  it('is suspended with all its calls, and continues', async ({ expect }) => {
    const client = await stdioClient(
      'v1',
      throughSquall([
        '--rules',
        rulesFile(
          'rules: [{ name: r, match: { args: { /text: bad } }, faults: [{ process: { stop: 400ms } }] }]',
        ),
      ]),
    )
    const took = await timesOfCalls(client, ['bad', 'good'])
    await client.close()
    for (const each of took) expect(each).toBeGreaterThan(390)
  })

  it('continues for the signal that ends it', async ({ expect }) => {
    const args = ['stdio', '--rules', ruled('{ process: { stop: 1h } }')]
    const script = `trap 'exit 5' TERM; echo ready; ${SERVER}`
    const program = startProgram([...args, '--', 'sh', '-c', script], {}, { open: true })
    await program.firstLine()
    program.child.stdin?.write(call(1, 'bad'))
    await program.complained('fault injected')
    program.signal('SIGTERM')
    expect((await program.ended).code).toBe(5)
  })

  it('continues when the group of Squall is killed, and sees the end of its input', async ({
    expect,
  }) => {
    const rules = ['--rules', ruled('{ process: { stop: 1h } }')]
    const args = throughSquall(rules, ['sh', '-c', `echo $$; ${SERVER}`])
    const program = startProgram(args, {}, { program: 'setsid', open: true })
    const pid = Number(await program.firstLine())
    program.child.stdin?.write(call(1, 'bad'))
    await program.complained('fault injected')
    process.kill(-program.child.pid!, 'SIGKILL')
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 15_000 }).toBe(false)
  })

  it('that ends closes the connection of a client of the SDK', async ({ expect }) => {
    const client = await stdioClient(
      'v2',
      throughSquall([
        '--rules',
        rulesFile(
          'rules: [{ name: r, match: { tool: echo }, faults: [{ process: { exit: 1 } }] }]',
        ),
      ]),
    )
    const failed = client.call('echo', { text: 'a' }).catch((error: Error) => error.message)
    await client.closed
    expect(await failed).toMatch(/closed/i)
  })
})
