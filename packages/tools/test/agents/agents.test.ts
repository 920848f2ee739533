// part: slow
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { call } from '../../../../test/support/wire.ts'
import type { Agents } from '../../../../src/admin/contract/api.ts'

const MAIN = fileURLToPath(new URL('../../../../dist/cli/main.js', import.meta.url))
const SCRIPT = { program: 'script' } as const
const opened = closers()
const RULES = 'rules: [{ name: broken, match: { tool: bad* }, faults: [abort: { status: 503 }] }]'

async function begin(flags: readonly string[] = []) {
  const all = ['--task-window', '150ms', ...flags]
  const { squall } = opened(await startSquall({ rules: RULES, flags: all }))
  const address = `127.0.0.1:${squall.running.admin!.port}`
  const found = async (): Promise<Agents> =>
    (await (await fetch(`${squall.admin}/api/agents`)).json()) as Agents
  let task = 0
  /** An agent that gives up at once, so many times. */
  const givesUp = async (name: string, times: number, _meta: object = {}): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const place = { port: squall.port, host: '127.0.0.1', headers: { 'x-task-id': `t${++task}` } }
      await call(place, { jsonrpc: '2.0', id: i, method: 'tools/call', params: { name, _meta } })
    }
    await eventually(async () => {
      const { waiting } = await found()
      return waiting === 0 ? undefined : `${waiting} wait for a verdict`
    })
  }
  const run = (...args: readonly string[]) =>
    startProgram(['agents', address, ...args], {}, { here: true })
  return { address, givesUp, run }
}

const SENTENCE = 'The agent gave up at once after 3 of 3 retryable errors of bad.'

it('says what agents did as text of 80 columns, JSON, Markdown and HTML', async () => {
  const { givesUp, run } = await begin()
  expect((await run()).stdout).toContain('No findings about agents since')
  await givesUp('bad', 3)
  const { code, stdout } = await run()
  expect(code).toBe(0)
  const lines = stdout.split('\n')
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
  expect(lines.map((line) => line.trim()).join(' ')).toContain(SENTENCE)
  expect(stdout).toContain('docs/guides/resilient-clients.md#back-off')
  expect(JSON.parse((await run('--json')).stdout)).toMatchObject({
    schema: 'squall.agents/1',
    findings: [{ kind: 'gave_up', sentence: SENTENCE }],
  })
  expect((await run('--markdown')).stdout).toContain(`**${SENTENCE}**`)
  expect((await run('--html')).stdout).toContain(`<strong>${SENTENCE}</strong>`)
  expect((await run('--since', '2100-01-01T00:00:00Z')).stdout).toContain('No finding')
})

it('is a gate against saved findings: new ones end it with 1', async () => {
  const { givesUp, run } = await begin()
  const file = join(mkdtempSync(join(tmpdir(), 'squall-agents-')), 'before.json')
  await givesUp('bad', 3)
  expect((await run('--save', file)).code).toBe(0)
  const same = await run('--against', file)
  expect(same.code).toBe(0)
  expect(same.stdout).toContain('same: 3 of 3 before, 3 of 3 now (p = 1.000)')
  const nobody = await run('--against', file, '--client', 'nobody*')
  expect(nobody.stdout.split('\n')).toEqual([expect.stringContaining('No new or worse'), ''])
  await givesUp('bad too', 3)
  const worse = await run('--against', file)
  expect(worse.code).toBe(1)
  expect(worse.stdout).toContain('1 new or worse')
  const saved = JSON.parse(readFileSync(file, 'utf8')) as { findings: { of: number }[] }
  // The same share is not new, although there was no finding about it before.
  writeFileSync(file, JSON.stringify({ ...saved, rest: saved.findings, findings: [] }))
  expect((await run('--against', file)).stdout).toContain('1 new or worse')
})

it('several sidecars are one list, in which findings about a load come last', async () => {
  const [loaded, called] = [await begin(), await begin()]
  await called.givesUp('bad', 3)
  await loaded.givesUp('bad', 3, { 'io.modelcontextprotocol/clientInfo': { name: 'squall-load' } })
  const { stdout } = await loaded.run(called.address, '--json')
  const { findings } = JSON.parse(stdout) as Agents
  expect(findings.map(({ kind, source }) => `${kind} ${source}`)).toEqual([
    'gave_up agent',
    'gave_up load',
  ])
})

it.each([
  [['agents'], SENTENCE],
  [['top', '--once'], 'TOOL'],
] as const)('%s shows its text in a terminal that does not know its width', async (words, text) => {
  const { address, givesUp } = await begin()
  await givesUp('bad', 3)
  const command = [process.execPath, MAIN, ...words, address].join(' ')
  // Its terminal has 0 columns.
  const { stdout } = await startProgram(['-qec', command, '/dev/null'], {}, SCRIPT).finished()
  expect(stripVTControlCharacters(stdout).replaceAll(/\s+/g, ' ')).toContain(text)
})

it('says how to turn tasks on where they are off', async () => {
  const { run } = await begin(['--tasks=false'])
  const { code, stderr } = await run()
  expect(code).toBe(1)
  expect(stderr).toContain('start squall run or squall stdio without --tasks=false')
  expect(stderr).not.toContain('?')
})

it.each([
  [['--follow', '--client', 'a'], '--follow and --client are mutually exclusive'],
  [['--verdict', 'runaway'], 'add --follow'],
  [['--json', '--html'], 'are mutually exclusive'],
  [['--since', 'soon'], 'use a duration'],
  [['--against', 'package.json'], 'holds no findings'],
])('rejects %s with the reason', async (args, reason) => {
  const { code, stderr } = await startProgram(['agents', ...args], {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toContain(reason)
})
