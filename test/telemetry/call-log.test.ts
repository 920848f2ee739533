// part: slow
import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { mkdir, mkdtemp, open, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openCallLog } from '../../src/telemetry/call-log.ts'
import type { CallLine } from '../../src/telemetry/call-line.ts'
import { call, callMessage } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram, startSquall } from '../support/commands.ts'

const opened = closers()

const MIB = 1024 * 1024
const LINE: CallLine = {
  at: '2026-03-01T09:00:00.000Z',
  method: 'tools/call',
  tool: 'search',
  outcome: 'ok',
  origin: 'real',
}
const RULES =
  'rules: [{ name: broken, match: { tool: bad }, faults: [abort: { toolError: boom }] }]'

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'squall-call-log-'))
  opened({ close: () => rm(made, { recursive: true }) })
  return made
}

async function start(path: string, maxBytes = 100 * MIB) {
  const logs: { fields: object; message: string }[] = []
  const write = (fields: object, message: string): void => void logs.push({ fields, message })
  const logger = { debug: write, info: write, warn: write, error: write }
  const counts = { written: 0, dropped: 0 }
  const count = (result: keyof typeof counts, lines: number): void => void (counts[result] += lines)
  const log = await openCallLog({ path, maxBytes, count, logger })
  return { log, logs, counts }
}

function parsed(text: string): CallLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CallLine)
}

/** Starts the program without an upstream; every call ends with the status 502. */
async function startAlone(path: string) {
  const flags = ['--listen', '127.0.0.1:0', '--admin', 'off', '--upstream', 'http://127.0.0.1:9']
  const program = startProgram(['run', ...flags, '--call-log', path])
  opened({ close: () => program.kill() })
  const { address } = await program.logged('listening')
  const port = Number(String(address).split(':').at(-1))
  const ask = (id: number) => call({ port, host: '127.0.0.1' }, callMessage(id, 'search'))
  return { program, ask }
}

async function linesOf(path: string): Promise<CallLine[]> {
  return parsed(await readFile(path, 'utf8').catch(() => ''))
}

it('has a line for each call, with nothing of arguments, results and messages', async () => {
  const file = join(await directory(), 'calls.jsonl')
  const squall = await startSquall({ rules: RULES, flags: ['--call-log', file] })
  const { ask } = squall
  await ask('search', { 'mcp-session-id': 'of-a-person' })
  await ask('bad')
  // Buffered lines are written before the end.
  await squall.close()
  expect(await linesOf(file)).toEqual([
    {
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      method: 'tools/call',
      tool: 'search',
      id: 1,
      session: expect.stringMatching(/^[0-9a-f]{8}$/),
      task: expect.stringMatching(/^[0-9a-f]{8}$/),
      outcome: 'ok',
      origin: 'real',
      durationMs: expect.any(Number),
      upstreamMs: expect.any(Number),
      requestBytes: Buffer.byteLength(JSON.stringify(callMessage(1, 'search'))),
      resultBytes: expect.any(Number),
    },
    {
      at: expect.any(String),
      method: 'tools/call',
      tool: 'bad',
      id: 2,
      task: expect.stringMatching(/^[0-9a-f]{8}$/),
      outcome: 'tool_error',
      origin: 'injected',
      durationMs: expect.any(Number),
      requestBytes: Buffer.byteLength(JSON.stringify(callMessage(2, 'bad'))),
      resultBytes: expect.any(Number),
      faults: [{ rule: 'broken', fault: 'abort' }],
    },
  ])
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

it('names the task of each call where calls are grouped, as ids are shown', async () => {
  const file = join(await directory(), 'calls.jsonl')
  const flags = ['--call-log', file, '--tasks', '--log-ids', 'hash']
  const squall = await startSquall({ rules: undefined, flags })
  await squall.ask('search', { 'x-task-id': 'trip-1' })
  await squall.ask('book', { 'x-task-id': 'trip-1' })
  await squall.ask('search', { 'x-task-id': 'trip-2' })
  await squall.close()
  const tasks = (await linesOf(file)).map(({ task }) => task)
  expect(tasks).toEqual([tasks[0], tasks[0], tasks[2]])
  expect(new Set(tasks).size).toBe(2)
  for (const task of tasks) expect(task).toMatch(/^[0-9a-f]{8}$/)
})

it('has as many lines as calls were counted, of each outcome', async () => {
  const file = join(await directory(), 'calls.jsonl')
  const { squall, ask, ...stage } = await startSquall({
    rules: RULES,
    flags: ['--call-log', file],
  })
  opened(stage)
  const batch = [callMessage(1, 'search'), callMessage(2, 'search')]
  await Promise.all([
    ...Array.from({ length: 60 }, (_, i) => ask(i % 3 === 0 ? 'bad' : 'search')),
    call({ port: squall.port, host: '127.0.0.1' }, batch),
  ])
  await squall.reaches('squall_call_log_lines_total', { result: 'written' }, 62)
  const lines = await linesOf(file)
  expect(lines.filter(({ requestBytes }) => requestBytes === undefined)).toHaveLength(2)
  for (const [tool, outcome, origin] of [
    ['search', 'ok', 'real'],
    ['bad', 'tool_error', 'injected'],
  ] as const) {
    const logged = lines.filter(
      (line) => line.tool === tool && line.outcome === outcome && line.origin === origin,
    )
    const labels = { method: 'tools/call', tool, outcome, origin }
    expect(logged.length).toBe(await squall.metric('squall_calls_total', labels))
  }
  expect(await squall.metric('squall_calls_total')).toBe(lines.length)
  expect(await squall.metric('squall_call_log_lines_total', { result: 'dropped' })).toBe(0)
})

it('serves on and drops lines with a warning where the disk is full', async () => {
  const { squall, ask, ...stage } = await startSquall({
    rules: undefined,
    flags: ['--call-log', '/dev/full'],
  })
  opened(stage)
  expect((await ask('search')).status).toBe(200)
  expect(await squall.logged('the call log cannot be written; up to 1 MiB of lines waits')).toEqual(
    expect.objectContaining({ level: 'warn', path: '/dev/full', why: 'ENOSPC' }),
  )
  expect((await ask('search')).status).toBe(200)
  await squall.close()
  expect(await squall.logged('lines of the call log were dropped')).toMatchObject({ lines: 2 })
})

it('counts every line as written or dropped, and warns rarely', async () => {
  const { log, logs, counts } = await start('/dev/full')
  for (let i = 0; i < 20_000; i++) log.take(LINE)
  await log.close()
  expect(counts).toEqual({ written: 0, dropped: 20_000 })
  const lines = logs.map(({ fields }) => ('lines' in fields ? Number(fields.lines) : 0))
  expect(lines.reduce((sum, each) => sum + each, 0)).toBe(20_000)
  expect(logs.length).toBeLessThan(5)
})

it('keeps lines whole for a slow reader, and drops those for which there is no room', async () => {
  const file = join(await directory(), 'pipe')
  execFileSync('mkfifo', [file])
  const reader = await open(file, constants.O_RDWR | constants.O_NONBLOCK)
  opened(reader)
  const { log, logs, counts } = await start(file)
  for (let i = 0; i < 20_000; i++) log.take({ ...LINE, id: i })
  const closed = log.close()
  let text = ''
  let isClosed = false
  void closed.then(() => (isClosed = true))
  await eventually(async () => {
    const { bytesRead, buffer } = await reader
      .read(Buffer.alloc(MIB), 0, MIB)
      .catch(() => ({ bytesRead: 0, buffer: Buffer.alloc(0) }))
    text += buffer.toString('utf8', 0, bytesRead)
    return isClosed && bytesRead === 0 ? undefined : 'there is more to read'
  })
  const ids = parsed(text.slice(0, text.lastIndexOf('\n') + 1)).map(({ id }) => id)
  expect(ids).toEqual(ids.map((_, i) => i))
  expect(ids.length).toBe(counts.written || ids.length)
  expect(counts.dropped).toBeGreaterThan(0)
  expect(counts.written + counts.dropped).toBe(20_000)
  expect(logs[0]).toMatchObject({ message: 'lines of the call log were dropped' })
})

it('keeps one older file, and no file above the size', async () => {
  const file = join(await directory(), 'calls.jsonl')
  const { log, logs, counts } = await start(file, 4 * MIB)
  const long = { ...LINE, client: 'x'.repeat(4000) }
  let taken = 0
  while (taken < 2_500) {
    for (let i = 0; i < 250; i++) log.take({ ...long, id: taken++ })
    await eventually(() => (counts.written === taken ? undefined : `${counts.written} written`))
  }
  await log.close()
  const [older, newer] = [await linesOf(`${file}.1`), await linesOf(file)]
  const ids = [...older, ...newer].map(({ id }) => id)
  expect(ids).toEqual(ids.map((_, i) => taken - ids.length + i))
  expect(older.length).toBeGreaterThan(900)
  for (const each of [file, `${file}.1`]) {
    const { size, mode } = await stat(each)
    expect(size).toBeLessThanOrEqual(4 * MIB)
    expect(mode & 0o777).toBe(0o600)
  }
  expect(logs.map(({ message }) => message)).toContain('the call log was reopened')
})

it('does not grow beyond the size where the older file cannot be replaced', async () => {
  const file = join(await directory(), 'calls.jsonl')
  await mkdir(`${file}.1`)
  const { log, logs, counts } = await start(file, 4 * MIB)
  const long = { ...LINE, client: 'x'.repeat(4000) }
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 250; i++) log.take(long)
    const before = counts.written
    await eventually(() =>
      counts.written > before || logs.length > 0 ? undefined : 'neither written nor logged',
    )
  }
  await log.close()
  expect((await stat(file)).size).toBeLessThanOrEqual(4 * MIB)
  expect(logs[0]).toMatchObject({ fields: { why: 'EISDIR' } })
  expect(counts.written + counts.dropped).toBe(1_500)
})

it('goes on in a new file after the file was moved', async () => {
  const file = join(await directory(), 'calls.jsonl')
  const { log, logs } = await start(file)
  opened(log)
  log.take(LINE)
  await eventually(async () => ((await linesOf(file)).length === 1 ? undefined : 'no line yet'))
  await rename(file, `${file}.1`)
  await eventually(async () => {
    log.take({ ...LINE, tool: 'after' })
    return (await linesOf(file)).length > 0 ? undefined : 'no line in the new file yet'
  })
  expect((await linesOf(`${file}.1`))[0]!.tool).toBe('search')
  expect(logs.map(({ message }) => message)).toEqual(['the call log was reopened'])
})

it('opens the file anew when it is asked, and loses no line', async () => {
  const file = join(await directory(), 'calls.jsonl')
  const { log } = await start(file)
  log.take({ ...LINE, tool: 'before' })
  await rename(file, `${file}.1`)
  log.reopen()
  log.take({ ...LINE, tool: 'after' })
  await log.close()
  const lines = [...(await linesOf(`${file}.1`)), ...(await linesOf(file))]
  expect(lines.map(({ tool }) => tool)).toEqual(['before', 'after'])
  expect((await linesOf(file)).at(-1)!.tool).toBe('after')
})

it('follows no symbolic link that appears at its place', async () => {
  const dir = await directory()
  const file = join(dir, 'calls.jsonl')
  const { log, logs, counts } = await start(file)
  await rename(file, join(dir, 'moved'))
  await symlink(join(dir, 'elsewhere'), file)
  log.reopen()
  log.take(LINE)
  await log.close()
  expect(counts).toEqual({ written: 0, dropped: 1 })
  expect(logs.at(-1)).toMatchObject({ fields: { why: 'ELOOP' } })
  await expect(stat(join(dir, 'elsewhere'))).rejects.toThrow('ENOENT')
})

it('opens the file anew on SIGHUP, serves on, and writes all lines at SIGTERM', async () => {
  const file = join(await directory(), 'calls.jsonl')
  const { program, ask } = await startAlone(file)
  await rename(file, `${file}.1`)
  program.signal('SIGHUP')
  await program.logged('the call log was reopened')
  for (let i = 0; i < 5; i++) await ask(i)
  program.signal('SIGTERM')
  expect(await program.ended).toEqual({ code: 0, signal: null })
  const ends = (await linesOf(file)).map(({ id, origin, status }) => [id, origin, status])
  expect(ends).toEqual([0, 1, 2, 3, 4].map((id) => [id, 'squall', 502]))
})

it('writes lines without a level to standard output, beside the log', async () => {
  const { program, ask } = await startAlone('-')
  await ask(1)
  program.signal('SIGTERM')
  await program.ended
  const calls = program.lines.filter(({ level }) => level === undefined)
  expect(calls).toMatchObject([{ method: 'tools/call', tool: 'search', origin: 'squall' }])
})
