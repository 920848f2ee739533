// part: slow
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { isAlive, startProgram } from '../../../../test/support/commands.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { runProcess } from '../../src/sweep/agent-process.ts'
import { cellsOf, ruleOf, sweepCalls } from '../../src/sweep/cells.ts'
import { SweepTape } from '../../src/sweep/sweep-tape.ts'
import { readSweep } from '../../src/sweep/sweep-result.ts'
import { AGENT, flightTape, sweepHere, verdictsOf } from './flights.ts'

const CHECK = "grep -q 'booked FL-48213'"

async function tapeHere(): Promise<string> {
  const path = await flightTape()
  onTestFinished(() => rm(dirname(path), { recursive: true, force: true }))
  return path
}

function squallSweep(path: string, args: readonly string[], agent = 'none') {
  const results = `${path}-results`
  const words = [
    'sweep',
    '--tape',
    path,
    '--results',
    results,
    ...args,
    '--',
    process.execPath,
    AGENT,
    agent,
  ]
  return startProgram(words, { AGENT_WAITING: `${path}.waiting` })
}

it('the command prints the table, and writes HTML, JUnit and a rules file for each cell', async () => {
  const path = await tapeHere()
  const junit = join(dirname(path), 'junit.xml')
  const program = squallSweep(path, [
    '--faults',
    'rateLimit,lost',
    '--check',
    CHECK,
    '--junit',
    junit,
  ])
  const { code, stdout } = await program.finished()
  expect(code).toBe(1)
  expect(stdout).toContain('5 calls, 10 single failures: 8 survived, 2 failed openly.')
  expect(stdout).toMatch(/^4 book_flight +ok +failed$/m)
  expect(stdout).toContain('4-lost: Call 4, book_flight, got a reset after the server had executed')
  expect(stdout).toContain(`--cell 4-lost`)
  const results = `${path}-results`
  const page = await readFile(join(results, 'report.html'), 'utf8')
  expect(page).toContain('Which single failure breaks the task')
  expect(await readFile(junit, 'utf8')).toContain('tests="10" failures="2"')
  const rules = await readFile(join(results, 'cells/4-lost.yaml'), 'utf8')
  expect(JSON.parse(rules)).toMatchObject({
    rules: [{ match: { tool: 'book_flight', args: { '/flight': 'FL-48213', '/price': 4187.23 } } }],
  })
}, 60_000)

it('a sweep that is killed leaves no process and no port, and resumes where it was', async () => {
  const path = await tapeHere()
  const args = ['--faults', 'rateLimit,timeout', '--check', CHECK, '--parallel', '1']
  const program = squallSweep(path, args, 'no-timeout:book_flight')
  await eventually(async () => {
    const cells = await readFile(`${path}.waiting`, 'utf8').catch(() => '')
    return cells.includes('4-timeout') ? undefined : `no agent waits: ${cells}`
  }, 60_000)
  const agents = await agentsOf(path)
  expect(agents).toHaveLength(1)
  await program.kill()
  await eventually(() => agents.filter(isAlive).join() || undefined)
  const again = squallSweep(
    path,
    [...args, '--resume', '--cell-timeout', '4s'],
    'no-timeout:book_flight',
  )
  const other = await again.finished()
  expect(other.stderr).toContain('are of another tape, command or flags')
}, 120_000)

it('a sweep that is interrupted goes on with --resume and ends as one that was not', async () => {
  const path = await tapeHere()
  const given = { path, faults: ['rateLimit', 'error'] as const, check: CHECK }
  const stop = new AbortController()
  const onProgress = (done: number): void => {
    if (done === 4) stop.abort()
  }
  const part = await sweepHere({ ...given, stop: stop.signal, onProgress })
  expect(part.cells.length).toBeGreaterThanOrEqual(4)
  expect(part.cells.length + part.left).toBe(10)
  expect(await readSweep(`${path}-results`)).toEqual(part)
  let first: number | undefined
  const whole = await sweepHere({ ...given, earlier: part, onProgress: (done) => (first ??= done) })
  expect(first).toBe(part.cells.length)
  expect(verdictsOf(whole)).toMatchObject({ '4-error': 'failed_openly', '1-error': 'survived' })
  expect(whole.left).toBe(0)
}, 120_000)

it('a task that fails without a fault is shown with its last lines, and nothing is swept', async () => {
  const path = await tapeHere()
  const program = squallSweep(path, ['--check', 'grep -q "no such text"'])
  const { code, stderr } = await program.finished()
  expect(code).toBe(1)
  expect(stderr).toContain('without a fault, --check did not accept the result')
  expect(stderr).toContain('booked FL-48213 for 4187.23: BK-771204')
}, 60_000)

it('the rule of a cell acts on its call alone, however alike the calls are', async () => {
  const long = 'x'.repeat(2000)
  const all = [
    { list: [] },
    { list: ['a'] },
    { list: Array.from({ length: 40 }, (_, index) => index) },
    { text: `${long}1` },
    { text: `${long}2` },
    { list: ['a'] },
  ]
  const path = await flightTape(all.map((args) => ['find', args, { found: 1 }]))
  onTestFinished(() => rm(dirname(path), { recursive: true, force: true }))
  const tape = await SweepTape.open(path, 'arguments')
  onTestFinished(() => tape.close())
  const calls = sweepCalls(all.map((args) => ({ key: JSON.stringify(args), tool: 'find', args })))
  for (const cell of cellsOf(calls, ['error'])) {
    const rules = `${path}.yaml`
    await writeFile(rules, JSON.stringify({ rules: [ruleOf(cell, calls, 'arguments')] }))
    const server = await tape.serve(rules, () => undefined)
    const failed: number[] = []
    for (const { number, args } of calls) {
      const params = { name: 'find', arguments: args }
      const body = JSON.stringify({ jsonrpc: '2.0', id: number, method: 'tools/call', params })
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      }
      const response = await fetch(server.url, { method: 'POST', headers, body })
      if ((await response.text()).includes('"isError":true')) failed.push(number)
    }
    await server.close()
    expect(failed).toEqual([cell.call.number])
  }
})

it('a process that leaves the group of the task does not keep the sweep waiting', async () => {
  const began = performance.now()
  const { exitCode, isTimedOut } = await runProcess(
    ['/bin/sh', '-c', 'setsid sleep 60 & echo done'],
    { env: process.env, timeoutMs: 30_000, stop: new AbortController().signal },
  )
  expect([exitCode, isTimedOut]).toEqual([0, false])
  expect(performance.now() - began).toBeLessThan(20_000)
})

/** Returns the processes of agents whose parent is a sweep of this tape. */
async function agentsOf(path: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const lines = await Promise.all(
    pids.map(async (pid) => {
      const [command, environment] = await Promise.all(
        ['cmdline', 'environ'].map((name) =>
          readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => ''),
        ),
      )
      const isAgent = command!.includes(AGENT) && !command!.includes(path)
      return isAgent && environment!.includes('SQUALL_CELL=4-timeout') ? [pid] : []
    }),
  )
  return lines.flat()
}
