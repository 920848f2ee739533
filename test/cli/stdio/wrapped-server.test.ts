// part: slow
import { setTimeout as after } from 'node:timers/promises'
import { describe, type ExpectStatic, it } from 'vitest'
import {
  FIXTURE_COMMAND,
  isAlive,
  rulesFile,
  startProgram,
  stdioClient,
  throughSquall,
  timesOfCalls,
} from '../../support/commands.ts'

/** Runs the fixture server as the child of a shell, as package runners do. */
const WRAPPED = ['sh', '-c', '"$@"; true', 'sh', ...FIXTURE_COMMAND]

const ruled = (fault: string): string[] => [
  '--rules',
  rulesFile(`rules: [{ name: r, match: { args: { /text: bad } }, faults: [${fault}] }]`),
]

const gone = (expect: ExpectStatic, ...pids: readonly number[]) =>
  expect.poll(() => pids.filter(isAlive), { timeout: 15_000 }).toEqual([])

describe.concurrent('a server behind a wrapper', () => {
  it('that writes on after its wrapper ends is not waited for', async ({ expect }) => {
    const script = 'while :; do echo "{}"; sleep 0.1; done & echo "{\\"pid\\":$!}"; exit 4'
    const program = startProgram(['stdio', '--', 'sh', '-c', script], {}, { open: true })
    const ended = program.ended.then(({ code }) => code)
    expect(await Promise.race([ended, after(20_000, 'still runs')])).toBe(4)
    const pid = Number(/"pid":(\d+)/.exec(program.stdout())?.[1])
    await gone(expect, pid)
  }, 30_000)

  it('ends with a fault that ends the process', async ({ expect }) => {
    const script = 'sleep 600 & echo "{\\"pid\\":$!}"; cat; true'
    const rules = ruled('{ process: { exit: 7 } }')
    const program = startProgram(['stdio', ...rules, '--', 'sh', '-c', script], {}, { open: true })
    const { pid } = JSON.parse(await program.firstLine()) as { pid: number }
    const params = { name: 'echo', arguments: { text: 'bad' } }
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    program.child.stdin?.write(`${JSON.stringify(call)}\n`)
    expect((await program.ended).code).toBe(7)
    await gone(expect, pid)
  })

  it('is suspended by a fault', async ({ expect }) => {
    const client = await stdioClient(
      'v1',
      throughSquall(ruled('{ process: { stop: 400ms } }'), WRAPPED),
    )
    const took = await timesOfCalls(client, ['bad', 'good'])
    await client.close()
    for (const each of took) expect(each).toBeGreaterThan(390)
  })

  it('gets Ctrl-C, which Squall alone gets', async ({ expect }) => {
    const server = `process.on('SIGINT', () => process.exit(6)); setInterval(() => {}, 1000); console.log('ready')`
    const script = '"$@"; exit $?'
    const args = ['stdio', '--', 'sh', '-c', script, 'sh', process.execPath, '-e', server]
    const program = startProgram(args, {}, { open: true })
    await program.firstLine()
    program.signal('SIGINT')
    const ended = program.ended.then(({ signal }) => signal)
    expect(await Promise.race([ended, after(20_000, 'still runs')])).toBe('SIGINT')
  }, 30_000)
})
