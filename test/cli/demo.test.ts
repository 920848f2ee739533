import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { asked } from '../support/asked.ts'
import { runHere } from '../support/here.ts'
import { FAILURES } from '../../src/demo/failure-script.ts'
import { PHASES } from '../../src/demo/phases/index.ts'
import { type Program, runProgram, startProgram } from '../support/program.ts'

// A demo bounds its own time; a busy machine adds to it.
const PATIENCE = 60_000

interface Row {
  readonly calls: number
  readonly [ending: string]: number
}
type Rows = Readonly<Record<string, Row>>

interface Report {
  readonly ok: boolean
  readonly seconds: number
  readonly checks: readonly { readonly what: string; readonly ok: boolean }[]
  readonly places?: { readonly app: string; readonly squall: string; readonly metrics: string }
  readonly phases: {
    readonly nobodyNotices: {
      readonly messages: number
      readonly equal: number
      readonly direct: { readonly bytes: number; readonly sha256: string }
      readonly squall: { readonly bytes: number; readonly sha256: string }
    }
    readonly everyCallAccounted: {
      readonly calls: number
      readonly failed: number
      readonly script: Rows
      readonly clients: Rows
      readonly squall: Rows
    }
    readonly life: {
      readonly restart: { readonly asked: number; readonly refused: number }
      readonly drain: { readonly ending: string }
    }
  }
}

const running: Program[] = []
afterEach(async () => {
  for (const program of running.splice(0)) await program.kill()
})

function start(...args: readonly string[]): Program {
  const program = startProgram(['demo', ...args])
  running.push(program)
  return program
}

function sum(rows: Rows, column: string): number {
  return Object.values(rows).reduce((total, row) => total + row[column]!, 0)
}

function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', () => resolve(true))
  })
}

describe('squall demo', () => {
  let printed: Awaited<ReturnType<typeof runProgram>>
  let staying: Program
  let results: Report

  // Two at once: neither may be in the way of the other.
  beforeAll(async () => {
    staying = startProgram(['demo', '--json', '--stay'])
    printed = await runProgram(['demo'])
    while (staying.lines.length === 0) await once(staying.child.stdout!, 'data')
    results = staying.lines[0] as unknown as Report
  }, PATIENCE)

  afterAll(() => staying?.kill())

  it('finds everything as it should be', () => {
    expect(results.ok).toBe(true)
    expect(results.checks.filter((check) => !check.ok)).toEqual([])
    expect(results.seconds).toBeGreaterThan(0)
    expect(Object.keys(results.phases)).toEqual(PHASES.map(({ key }) => key))
  })

  it('sees the same bytes on both ways', () => {
    const { messages, equal, direct, squall } = results.phases.nobodyNotices
    expect(equal).toBe(messages)
    expect(squall.bytes).toBe(direct.bytes)
    expect(squall.sha256).toBe(direct.sha256)
  })

  it('has numbers that fit together', () => {
    const { calls, failed, script, clients, squall } = results.phases.everyCallAccounted
    expect(squall).toEqual(script)
    expect(clients).toEqual(script)
    expect(sum(script, 'calls')).toBe(calls)
    expect(calls - sum(script, 'ok')).toBe(failed)
    for (const way of FAILURES) expect(sum(script, way)).toBeGreaterThan(0)
    const { restart, drain } = results.phases.life
    expect(restart.refused).toBe(restart.asked)
    expect(drain.ending).toBe('ok')
  })

  it('prints plain lines that fit a terminal when it is piped', () => {
    const { code, stdout, stderr } = printed
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    for (const { title, word } of PHASES) {
      expect(stdout).toContain(title)
      expect(stdout).toContain(`✓ ${word}`)
    }
  })

  it(
    'stays until it is told to stop, and leaves nothing behind',
    async () => {
      const { places } = results
      const ports = Object.values(places!).map((url) => Number(new URL(url).port))
      expect(new Set(ports).size).toBe(3)
      const answer = await fetch(places!.squall, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      })
      expect(await answer.text()).toContain('book_flight')
      expect(await (await fetch(places!.metrics)).text()).toContain('squall_calls_total')
      staying.signal('SIGINT')
      expect(await staying.ended).toEqual({ code: 0, signal: null })
      expect(staying.stderr()).toBe('')
      expect(await Promise.all(ports.map(refuses))).toEqual([true, true, true])
    },
    PATIENCE,
  )

  it('ends at once on Ctrl-C in the middle', async () => {
    const program = start()
    await once(program.child.stdout!, 'data')
    program.signal('SIGINT')
    expect(await program.ended).toEqual({ code: 130, signal: null })
    expect(program.stdout()).toContain('stopped by SIGINT')
  })
})

describe('the command line of squall demo', () => {
  it('knows its options', () => {
    const parse = (...args: string[]): unknown => asked(['demo', ...args])
    expect(parse()).toEqual({ json: false, stay: false })
    expect(parse('--json', '--stay')).toEqual({ json: true, stay: true })
  })

  it.each([
    [['--fast'], 'squall: unknown option "--fast"; see squall demo --help\n'],
    [['--jsn'], 'squall: unknown option "--jsn"; did you mean --json?\n'],
    [['quick'], 'squall: unexpected argument "quick"; see squall demo --help\n'],
  ])('refuses %j in one line', async (args, line) => {
    const { code, stdout, stderr } = await runHere(['demo', ...args])
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: line })
  })
})
