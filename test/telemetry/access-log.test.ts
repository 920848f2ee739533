import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { mkdtemp, open, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAccessLog } from '../../src/telemetry/access-log.ts'
import type { CallLine } from '../../src/telemetry/call-line.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/program.ts'
import { startSquall } from '../support/squall.ts'

const opened = closers()

const LINE: CallLine = {
  at: '2026-03-01T09:00:00.000Z',
  method: 'tools/call',
  tool: 'search',
  outcome: 'ok',
  origin: 'real',
}

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'squall-access-log-'))
  opened({ close: () => rm(made, { recursive: true }) })
  return made
}

async function start(path: string) {
  const logs: { fields: object; message: string }[] = []
  const write = (fields: object, message: string): void => void logs.push({ fields, message })
  const logger = { debug: write, info: write, warn: write, error: write }
  const log = await openAccessLog(path, logger)
  return { log, logs }
}

async function linesOf(path: string): Promise<CallLine[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CallLine)
}

it('has a line for each call, with nothing of arguments, results and messages', async () => {
  const file = join(await directory(), 'access.log')
  const rules =
    'rules: [{ name: broken, match: { tool: bad }, faults: [abort: { toolError: boom }] }]'
  const squall = await startSquall({ rules, flags: ['--access-log', file] })
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
      outcome: 'ok',
      origin: 'real',
      durationMs: expect.any(Number),
      upstreamMs: expect.any(Number),
      bytes: expect.any(Number),
    },
    {
      at: expect.any(String),
      method: 'tools/call',
      tool: 'bad',
      id: 2,
      outcome: 'tool_error',
      origin: 'injected',
      durationMs: expect.any(Number),
      bytes: expect.any(Number),
      faults: [{ rule: 'broken', fault: 'abort' }],
    },
  ])
})

it('goes on in a new file after the file was moved', async () => {
  const file = join(await directory(), 'access.log')
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
  expect(logs.map(({ message }) => message)).toEqual(['the access log was opened anew'])
})

it('opens the file anew when it is asked, and loses no line', async () => {
  const file = join(await directory(), 'access.log')
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

it('drops lines that nothing takes, and logs how many', async () => {
  const file = join(await directory(), 'pipe')
  execFileSync('mkfifo', [file])
  // A reader that reads nothing: it holds both ends, so that opening one does not wait.
  opened(await open(file, constants.O_RDWR | constants.O_NONBLOCK))
  const { log, logs } = await start(file)
  for (let i = 0; i < 100_000; i++) log.take(LINE)
  await log.close()
  expect(logs[0]).toMatchObject({
    fields: { lines: expect.any(Number) },
    message: 'lines of the access log were dropped',
  })
})

it('opens the file anew on SIGHUP, and serves on', async () => {
  const file = join(await directory(), 'access.log')
  const program = startProgram([
    'run',
    '--listen',
    '127.0.0.1:0',
    '--admin',
    'off',
    '--access-log',
    file,
  ])
  opened({ close: () => program.kill() })
  await program.logged('listening')
  await rename(file, `${file}.1`)
  program.signal('SIGHUP')
  await program.logged('the access log was opened anew')
  program.signal('SIGTERM')
  expect(await program.ended).toEqual({ code: 0, signal: null })
})

it.each([
  ['a directory', (dir: string) => dir, 'EISDIR'],
  ['a file in no directory', (dir: string) => join(dir, 'none', 'x'), 'ENOENT'],
  ['a pipe that nobody reads', (dir: string) => join(dir, 'pipe'), 'ENXIO'],
])('ends the start where it is %s', async (_, path, code) => {
  const dir = await directory()
  execFileSync('mkfifo', [join(dir, 'pipe')])
  await expect(startSquall('--access-log', path(dir))).rejects.toThrow(
    new RegExp(`the access log .* cannot be opened: ${code}; name a file`),
  )
})
