// part: package
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PHASES } from '../../packages/experiments/src/demo/demo.ts'
import type {
  IndicatorCounts,
  Indicators,
} from '../../packages/experiments/src/indicators/indicators.ts'
import type { ErrorCount } from '../../packages/experiments/src/load/results/result.ts'
import { integerText } from '../../src/base/text/shown-numbers.ts'
import { type Program, startProgram } from '../support/commands.ts'

interface Account {
  readonly calls: number
  readonly injected: number
  readonly real: number
}

interface Load {
  readonly counts: IndicatorCounts
  readonly indicators: Indicators
  readonly errors: readonly ErrorCount[]
  readonly squall: Account
}

interface Report {
  readonly ok: boolean
  readonly seconds: number
  readonly checks: readonly { readonly what: string; readonly ok: boolean }[]
  readonly addresses?: Readonly<Record<'app' | 'squall' | 'page' | 'metrics' | 'rules', string>>
  readonly report?: string
  readonly phases: {
    readonly transparency: {
      readonly messages: number
      readonly equal: number
      readonly direct: { readonly bytes: number; readonly sha256: string }
      readonly squall: { readonly bytes: number; readonly sha256: string }
    }
    readonly clean: Load
    readonly twoPercent: Load
    readonly withRetries: Load
    readonly editedLive: Load & { readonly script: Readonly<Record<string, number>> }
    readonly life: { readonly restart: { readonly asked: number; readonly rejected: number } }
  }
}

function errorsOf({ errors }: Load, origin: string): number {
  return errors.filter((each) => each.origin === origin).reduce((all, { count }) => all + count, 0)
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

let directory: string
let staying: Program
let results: Report

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-demo-test-'))
  staying = startProgram(['demo', '--json', '--stay', '--report', join(directory, 'staying.html')])
  while (staying.lines.length === 0) await once(staying.child.stdout!, 'data')
  results = staying.lines[0] as unknown as Report
})

afterAll(async () => {
  await staying?.kill()
  await rm(directory, { recursive: true, force: true })
})

it('finds everything as it should be', () => {
  expect(results.ok).toBe(true)
  expect(results.checks.filter((check) => !check.ok)).toEqual([])
  expect(results.seconds).toBeGreaterThan(0)
  expect(Object.keys(results.phases)).toEqual(PHASES.map(({ key }) => key))
})

it('sees the same bytes on both ways', () => {
  const { messages, equal, direct, squall } = results.phases.transparency
  expect(equal).toBe(messages)
  expect(squall.bytes).toBe(direct.bytes)
  expect(squall.sha256).toBe(direct.sha256)
})

it('has numbers that fit together', () => {
  const { clean, twoPercent, withRetries, editedLive, life } = results.phases
  expect(clean.indicators.tcsr).toBe(1)
  expect(clean.squall.injected).toBe(0)
  const { counts, indicators } = twoPercent
  expect(errorsOf(twoPercent, 'injected')).toBe(counts.calls - counts.success)
  expect(twoPercent.squall.injected).toBe(counts.calls - counts.success)
  expect(indicators.blastRadius).toBeCloseTo(counts.failedTasks / counts.tasks, 3)
  expect(withRetries.counts.retries).toBeGreaterThan(0)
  expect(withRetries.counts.failedTasks).toBeLessThan(counts.failedTasks)
  const { script, squall } = editedLive
  const failed = Object.values(script).reduce((total, count) => total + count, 0)
  expect(failed).toBeGreaterThan(0)
  expect(squall.real).toBe(failed)
  expect(squall.injected).toBeGreaterThan(errorsOf(editedLive, 'injected'))
  const { restart } = life
  expect(restart.rejected).toBe(restart.asked)
})

it('writes its report to the given file', async () => {
  expect(results.report).toBe(join(directory, 'staying.html'))
  const { counts } = results.phases.twoPercent
  const report = await readFile(results.report!, 'utf8')
  expect(report).toContain(`<b>${integerText(counts.calls - counts.success)}</b>`)
})

it('stays until a signal ends it, and leaves nothing behind', async () => {
  const { rules, ...urls } = results.addresses!
  const ports = Object.values(urls).map((url) => Number(new URL(url).port))
  expect(new Set(ports).size).toBe(3)
  const response = await fetch(urls.squall, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  })
  expect(await response.text()).toContain('book_flight')
  expect(await (await fetch(urls.metrics)).text()).toContain('squall_calls_total')
  expect(await (await fetch(urls.page, { headers: { accept: 'text/html' } })).text()).toContain(
    '<title>Squall</title>',
  )
  expect(await readFile(rules, 'utf8')).toContain('two-percent')
  staying.signal('SIGINT')
  expect(await staying.ended).toEqual({ code: 0, signal: null })
  expect(staying.stderr()).toBe('')
  expect(await Promise.all(ports.map(refuses))).toEqual(ports.map(() => true))
  await expect(access(dirname(rules))).rejects.toThrow('ENOENT')
})
