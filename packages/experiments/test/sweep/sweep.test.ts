// part: slow
import { once } from 'node:events'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { isAlive, startProgram } from '../../../../test/support/commands.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { Random, seedOfRun } from '../../../../test/support/random.ts'
import { rounds } from '../../../../test/support/rounds.ts'
import { runProcess } from '../../src/sweep/agent-process.ts'
import { cellsOf, ruleOf, sweepCalls } from '../../src/sweep/cells.ts'
import { servePlayer } from '../../src/sweep/run-task.ts'
import { readSweep, type SweepResult } from '../../src/sweep/sweep-result.ts'
import { Player } from '../../src/tape/player.ts'
import { openTape } from '../../src/tape/tape.ts'
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
  return startProgram(words, {
    AGENT_WAITING: `${path}.waiting`,
    AGENT_STARTS: `${path}.starts`,
    TMPDIR: dirname(path),
  })
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
  expect(await readFile(junit, 'utf8')).toContain('tests="11" failures="2"')
  const rules = await readFile(join(results, 'cells/4-lost.yaml'), 'utf8')
  expect(JSON.parse(rules)).toMatchObject({
    rules: [{ match: { tool: 'book_flight', args: { '/flight': 'FL-48213', '/price': 4187.23 } } }],
  })
})

it('the JUnit report fails exactly where the exit code is not 0', async () => {
  const path = await tapeHere()
  const junit = `${path}.xml`
  const task = `sleep 0.4; exec ${process.execPath} ${AGENT} none`
  const swept = async (...args: readonly string[]) => {
    const words = ['sweep', '--tape', path, '--results', `${path}-r`, '--junit', junit, ...args]
    const program = startProgram([...words, '--', '/bin/sh', '-c', task], {}, { here: true })
    return [(await program).code, await readFile(junit, 'utf8')]
  }
  const lost = ['--check', CHECK, '--cell', '4-lost', '--accept', 'failed_openly']
  expect(await swept(...lost)).toEqual([0, expect.stringContaining('tests="2" failures="0"')])
  // The runs without a fault take longer.
  const [code, report] = await swept('--check', CHECK, '--faults', 'lost', '--budget', '1s')
  expect([code, report]).toEqual([1, expect.stringContaining('tests="1" failures="1"')])
  expect(report).toContain('5 cells were not run; add --resume')
})

it('what cannot be swept is a wrong input, and no task that broke', async () => {
  const path = await tapeHere()
  const swept = async (tape: string, ...args: readonly string[]) =>
    startProgram(['sweep', '--tape', tape, ...args]).finished()
  const into = ['--results', `${path}-r`]
  const run = ['--', process.execPath, AGENT, 'none']
  const gone = await swept(`${path}.gone`, ...into, ...run)
  const cell = await swept(path, ...into, '--cell', '99-error', ...run)
  const command = await swept(path, ...into, '--', 'no-such-program')
  const typo = `${path}-typo`
  const resumed = await swept(path, '--results', typo, '--resume', ...run)
  expect(resumed.stderr).toContain('has no results of a sweep; remove --resume')
  await expect(readdir(typo)).rejects.toThrow('ENOENT')
  expect([gone.code, cell.code, command.code]).toEqual([2, 2, 2])
  expect(gone.stderr).toContain('no such file or directory; specify a file')
  expect(cell.stderr).toContain('unknown cell 99-error; write the number of a call and a fault')
  expect(command.stderr).toContain(
    'no-such-program cannot be started: no such file or directory; check the command',
  )
})

it('a sweep that is killed while its task hangs ends the task, and other flags do not resume it', async () => {
  const path = await tapeHere()
  const args = ['--faults', 'rateLimit,timeout', '--check', CHECK, '--parallel', '1']
  const program = squallSweep(path, args, 'no-timeout:book_flight')
  await eventually(async () => {
    const cells = await readFile(`${path}.waiting`, 'utf8').catch(() => '')
    return cells.includes('4-timeout') ? undefined : `no agent waits: ${cells}`
  }, 60_000)
  const processes = await processesOf(path)
  // The sweep, its task, and the one that ends the task.
  expect(processes.length).toBeGreaterThanOrEqual(3)
  await program.kill()
  await eventually(() => processes.filter(isAlive).join() || undefined)
  const flags = ['--resume', '--cell-timeout', '4s']
  const again = await squallSweep(path, [...args, ...flags], 'no-timeout:book_flight').finished()
  expect(again.stderr).toContain('belong to another tape, command or set of flags')
})

it('a second sweep does not replace the rules of the first one', async () => {
  const path = await tapeHere()
  const args = ['--faults', 'timeout', '--check', CHECK, '--cell', '4-timeout']
  const first = squallSweep(path, args, 'no-timeout:book_flight')
  await eventually(async () => {
    const cells = await readFile(`${path}.waiting`, 'utf8').catch(() => '')
    return cells.includes('4-timeout') ? undefined : 'no agent waits'
  }, 60_000)
  const { code, stderr } = await squallSweep(path, args).finished()
  expect(stderr).toContain(`another sweep stores its results in ${path}-results; wait until it`)
  expect(code).toBe(2)
  await symlink(`${path}-results`, `${path}-link`)
  const linked = ['--results', `${path}-link`, '--', 'true']
  const other = await startProgram(['sweep', '--tape', path, ...linked]).finished()
  expect(other.stderr).toContain(`another sweep stores its results in ${path}-link; wait until it`)
  await first.kill()
  const resumed = squallSweep(path, ['--faults', 'error', '--check', CHECK, '--cell', '1-error'])
  expect((await resumed.finished()).code).toBe(0)
})

it('results that cannot be stored any more end the sweep with a reason', async () => {
  const path = await tapeHere()
  const junit = `${path}.xml`
  const args = ['--faults', 'timeout', '--cell', '4-timeout', '--cell-timeout', '10s']
  const program = squallSweep(path, [...args, '--junit', junit], 'no-timeout:book_flight')
  await eventually(async () => {
    const cells = await readFile(`${path}.waiting`, 'utf8').catch(() => '')
    return cells.includes('4-timeout') ? undefined : 'no agent waits'
  }, 60_000)
  await rm(`${path}-results`, { recursive: true })
  const { code, stderr } = await program.finished()
  expect(stderr).toMatch(/^squall: ".*" cannot be used: no such file or directory; check the path/)
  expect(code).toBe(1)
  expect(await readFile(junit, 'utf8')).toContain('errors="1"')
})

it('a sweep that is killed at random leaves no process and no port, and resumes', async () => {
  const path = await tapeHere()
  const args = ['--faults', 'rateLimit,error', '--check', CHECK, '--json']
  const random = new Random(seedOfRun())
  const known = async (): Promise<readonly string[]> =>
    ((await readSweep(`${path}-results`))?.cells ?? []).map(({ id }) => id)
  const resumed = async (): Promise<readonly string[]> =>
    (await known()).length === 0 ? args : [...args, '--resume']
  for (let round = 0; round < rounds(3, 30); round++) {
    const before = (await startsOf(path)).length
    const program = squallSweep(path, await resumed())
    const most = before + random.int(0, 8)
    await eventually(async () => {
      const isDue = program.child.exitCode !== null || (await startsOf(path)).length >= most
      return isDue ? undefined : `fewer than ${most} starts: ${program.stderr()}`
    })
    await sleep(random.int(0, 300))
    const processes = await processesOf(path)
    await program.kill()
    await eventually(async () => {
      const left = new Set([...processes.filter(isAlive), ...(await processesOf(path))])
      return left.size === 0 ? undefined : `still running: ${[...left].join()}`
    })
    // Ports of earlier rounds may be in use by other programs.
    for (const { port } of (await startsOf(path)).slice(before)) {
      await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED')
    }
  }
  const done = await known()
  const before = (await startsOf(path)).length
  const { stdout, stderr } = await squallSweep(path, await resumed()).finished()
  const whole = JSON.parse(stdout || stderr) as SweepResult
  const later = (await startsOf(path)).slice(before).map(({ cell }) => cell)
  expect(later.filter((cell) => done.includes(cell))).toEqual([])
  expect(whole.left).toBe(0)
  expect(verdictsOf(whole)).toEqual(
    verdictsOf(await sweepHere({ faults: ['rateLimit', 'error'], check: CHECK })),
  )
}, 300_000)

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
})

it('a cell that is repeated has the share of its good runs', async () => {
  const { cells, left } = await sweepHere({
    faults: ['rateLimit'],
    only: ['1-rateLimit'],
    check: CHECK,
    repeat: 3,
  })
  expect(left).toBe(0)
  expect(cells).toMatchObject([{ id: '1-rateLimit', share: { good: 3, runs: 3 } }])
  expect(cells[0]!.runs).toHaveLength(3)
})

it('a check that times out rejects the result of its cell alone', async () => {
  const check = `[ $SQUALL_CELL = 1-error ] && sleep 60; ${CHECK}`
  const only = ['1-error', '1-rateLimit']
  const asked = { faults: ['error', 'rateLimit'], only, check, cellTimeoutMs: 8_000 } as const
  const result = await sweepHere(asked)
  expect(verdictsOf(result)).toEqual({ '1-error': 'failed_silently', '1-rateLimit': 'survived' })
  const [{ lines } = { lines: [] }] = result.cells[0]!.runs
  expect(lines.at(-1)).toBe('--check timed out; raise --cell-timeout')
})

it('no cell begins after the budget', async () => {
  const { cells, left } = await sweepHere({ faults: ['rateLimit'], check: CHECK, budgetMs: 1 })
  expect([cells, left]).toEqual([[], 5])
})

it('a false value that the task uses is a silent failure, without a check of the result', async () => {
  const command = scripted(`
    const { price } = await call('get_price', { flight: 'FL-48213' })
    await call('book_flight', { flight: 'FL-48213', price })`)
  const { cells } = await sweepHere({ command, faults: ['falsified'], only: ['1-falsified'] })
  expect(cells).toMatchObject([{ verdict: 'failed_silently', runs: [{ falseUsed: 1 }] }])
})

it('calls that are not in each of three runs are listed apart, and not swept', async () => {
  const path = await tapeHere()
  // The first run alone asks for a price.
  const command = scripted(`
    import { existsSync, writeFileSync } from 'node:fs'
    await call('search_flights', { from: 'OSL', to: 'LIS' })
    const hasRun = ${JSON.stringify(`${path}.ran`)}
    if (!existsSync(hasRun)) await call('get_price', { flight: 'FL-48377' })
    writeFileSync(hasRun, '')`)
  const { calls, unstable, cells } = await sweepHere({ path, command, faults: ['error'] })
  expect(calls.map(({ tool }) => tool)).toEqual(['search_flights'])
  expect(unstable.map(({ tool }) => tool)).toEqual(['get_price'])
  expect(cells.map(({ id }) => id)).toEqual(['1-error'])
})

it('a task that fails without a fault is shown with its last lines, and nothing is swept', async () => {
  const path = await tapeHere()
  const program = squallSweep(path, ['--check', 'grep -q "no such text"'])
  const { code, stderr } = await program.finished()
  expect(code).toBe(1)
  expect(stderr).toContain('without a fault, --check did not accept the result')
  expect(stderr).toContain('booked FL-48213 for 4187.23: BK-771204')
})

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
  const tape = await openTape(path)
  onTestFinished(() => tape.close())
  const calls = sweepCalls(all.map((args) => ({ key: JSON.stringify(args), tool: 'find', args })))
  for (const cell of cellsOf(calls, ['error'])) {
    const rules = `${path}.yaml`
    await writeFile(rules, JSON.stringify({ rules: [ruleOf(cell, calls, 'arguments')] }))
    const player = new Player(tape, { session: 'all', repeats: true })
    const server = await servePlayer(player, rules, () => undefined)
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

const CALL_FUNCTION = `
async function call(name, args) {
  const response = await fetch(process.env.MCP_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args },
    }),
  })
  return (await response.json()).result.structuredContent
}`

/** Returns the command of a task that is a script. */
function scripted(script: string): readonly string[] {
  return [process.execPath, '--input-type=module', '-e', `${script}\n${CALL_FUNCTION}`]
}

/** Returns the processes of sweeps of this tape, and of their tasks. */
async function processesOf(path: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const environments = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')),
  )
  return pids.filter((_, index) => environments[index]!.includes(`AGENT_STARTS=${path}.starts`))
}

/** Returns the starts of the task of this tape: the cell, and the port of its server. */
async function startsOf(path: string) {
  const text = await readFile(`${path}.starts`, 'utf8').catch(() => '')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [cell = '', url = ''] = line.split(' ')
      return { cell, port: Number(new URL(url).port) }
    })
}
