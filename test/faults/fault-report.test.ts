import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import type { InjectedRecord } from '../../src/listener/faults/exchange-context.ts'
import {
  FaultReport,
  type FaultReportOptions,
  RecentFaults,
  type InjectedFaultEntry,
} from '../../src/listener/faults/fault-report.ts'
import type { Call } from '../../src/mcp/call.ts'
import { type LogIds, type LogLevel, createLogger } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { eventually } from '../support/eventually.ts'
import { metricOf } from '../support/wire.ts'

const SECRET = 'hunter2-5f3a'
const CALL: Call = {
  id: 7,
  method: 'tools/call',
  name: 'search',
  params: { name: 'search', arguments: { password: SECRET, q: SECRET }, _meta: { x: SECRET } },
  transport: 'streamable-http',
  protocolVersion: undefined,
  progressToken: SECRET,
}
const RECORD: InjectedRecord = {
  rule: 'slow',
  fault: 'delay',
  call: CALL,
  effect: undefined,
  delayMs: undefined,
  first: true,
}

const directories: string[] = []
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

it('keeps the last injected faults, newest first', () => {
  const recent = new RecentFaults(3)
  const entry = {} as InjectedFaultEntry
  const kept = [1, 2, 3, 4, 5].map((at) => {
    recent.add({ at, entry })
    return recent.list().map((each) => each.at)
  })
  expect(kept).toEqual([[1], [2, 1], [3, 2, 1], [4, 3, 2], [5, 4, 3]])
  expect(recent.total).toBe(5)
})

/** A report whose lines go through a real file. */
function start(
  level: LogLevel = 'debug',
  ids: LogIds = 'full',
  more: Partial<FaultReportOptions> = {},
) {
  const directory = mkdtempSync(join(tmpdir(), 'squall-report-'))
  directories.push(directory)
  const path = join(directory, 'log')
  const destination = pino.destination({ dest: path, sync: true })
  const logger = createLogger({ level, format: 'json', destination })
  const metrics = new Metrics({ version: '1' })
  const recent = new RecentFaults()
  const ruleLabel = (rule: string) => (rule === 'one too many' ? 'other' : rule)
  const report = new FaultReport({
    telemetry: metrics,
    watched: metrics.watched,
    logger,
    ruleLabel,
    recent,
    ids,
    now: () => 1_700_000_000_000,
    ...more,
  })
  const text = (): string => readFileSync(path, 'utf8')
  return {
    report,
    metrics,
    recent,
    text,
    lines: () =>
      text()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const { time, ...fields } = JSON.parse(line) as Record<string, unknown>
          expect(typeof time).toBe('string')
          return fields
        }),
  }
}

describe('a fault that takes effect', () => {
  it('is one line that says what was done to which call', () => {
    const { report, lines, recent } = start()
    report.of('session-1').injected({ ...RECORD, effect: 'late', delayMs: 1500.12345 })
    const session = createHash('sha256').update('session-1').digest('hex').slice(0, 8)
    const entry = {
      rule: 'slow',
      fault: 'delay',
      tool: 'search',
      id: 7,
      session,
      effect: 'late',
      delayMs: 1500.123,
    }
    expect(lines()).toEqual([{ level: 'info', ...entry, msg: 'fault injected' }])
    expect(recent.list()).toEqual([{ at: 1_700_000_000_000, entry }])
  })

  it.each<[LogIds, string | number, string | number | undefined]>([
    ['full', 7, 7],
    ['full', 'ä'.repeat(100), 'ä'.repeat(64)],
    ['hash', 7, '7902699b'],
    ['hash', SECRET, createHash('sha256').update(SECRET).digest('hex').slice(0, 8)],
    ['off', SECRET, undefined],
  ])('shows ids as configured: %s', (ids, id, shown) => {
    const { report, lines, recent } = start('debug', ids)
    report.of('').injected({ ...RECORD, call: { ...CALL, id } })
    report.of('').notApplicable({ ...RECORD, call: { ...CALL, id }, reason: 'failed' })
    expect(recent.list()[0]!.entry.id).toBe(shown)
    expect(lines().map((line) => line['id'])).toEqual([shown, shown])
  })

  it('names the method where the call has no tool, and neither where there is no call', () => {
    const { report, lines } = start()
    const listener = report.of('')
    listener.injected({ ...RECORD, call: { ...CALL, method: 'resources/read', name: 'file:///a' } })
    listener.injected({ ...RECORD, call: undefined })
    const common = { level: 'info', rule: 'slow', fault: 'delay', msg: 'fault injected' }
    expect(lines()).toEqual([{ ...common, method: 'resources/read', id: 7 }, common])
  })

  it('is reported once per call, and every delay is measured', async () => {
    const { report, lines, metrics, recent } = start()
    const listener = report.of('s')
    for (let i = 0; i < 5; i++) listener.injected({ ...RECORD, delayMs: 10, first: i === 0 })
    listener.injected({ ...RECORD, delayMs: Infinity })
    expect(lines()).toHaveLength(2)
    expect(recent.total).toBe(2)
    const { text } = await metrics.render()
    expect(metricOf(text, 'squall_faults_injected_total')).toBe(2)
    expect(text).toContain('squall_injected_delay_seconds_count{rule="slow"} 5')
  })

  it('is as often in the log as in metrics, also when there are many', async () => {
    const { report, lines, metrics, recent } = start('info')
    for (let i = 0; i < 3000; i++) {
      const listener = report.of(`session-${i % 7}`)
      listener.injected({ ...RECORD, call: { ...CALL, id: i }, first: i % 3 !== 0 })
    }
    const { text } = await metrics.render()
    expect(metricOf(text, 'squall_faults_injected_total')).toBe(2000)
    expect(lines()).toHaveLength(2000)
    expect(recent.total).toBe(2000)
    const shown = recent.list().map(({ entry }) => entry.id)
    expect(shown).toHaveLength(200)
    expect(shown.slice(0, 3)).toEqual([2999, 2998, 2996])
  })

  it('is counted under the label that its rule has elsewhere, and logged by its name', async () => {
    const { report, lines, metrics } = start()
    report.of('s').injected({ ...RECORD, rule: 'one too many' })
    const { text } = await metrics.render()
    expect(metricOf(text, 'squall_faults_injected_total', { rule: 'other' })).toBe(1)
    expect(lines()[0]).toMatchObject({ rule: 'one too many' })
  })
})

describe('a fault that does not', () => {
  it('is logged at debug level', () => {
    const quiet = start('info')
    quiet.report.of('s').notApplicable({ ...RECORD, reason: 'headers_sent' })
    expect(quiet.lines()).toEqual([])
    const loud = start('debug')
    loud.report.of('s').notApplicable({ ...RECORD, reason: 'headers_sent' })
    expect(loud.lines()).toMatchObject([{ level: 'debug', rule: 'slow', reason: 'headers_sent' }])
  })

  it('says where it broke', () => {
    const { report, lines } = start()
    report.of('s').failed({ rule: 'slow', fault: 'delay', call: CALL }, new TypeError('no'))
    const [line] = lines()
    expect(line).toMatchObject({ level: 'error', rule: 'slow', fault: 'delay', tool: 'search' })
    const err = line!['err'] as { type: string; frames: string[] }
    expect(err.type).toBe('TypeError')
    expect(err.frames[0]).toMatch(/^at .*fault-report\.test/)
  })

  it.each([undefined, null, 'text', 7, Object.create(null), new Error('')])(
    'may break by throwing %j',
    (thrown) => {
      const { report, lines } = start()
      report.of('s').failed({ rule: 'slow', fault: 'delay', call: undefined }, thrown)
      expect(lines()).toHaveLength(1)
    },
  )
})

describe('secrets', () => {
  it('of sessions, arguments, results and other names do not show', () => {
    const { report, text, recent, lines } = start()
    const listener = report.of(SECRET)
    listener.injected(RECORD)
    listener.injected({ ...RECORD, call: { ...CALL, method: 'resources/read', name: SECRET } })
    listener.injected({ ...RECORD, call: { ...CALL, method: 'prompts/get', name: SECRET } })
    listener.notApplicable({ ...RECORD, reason: 'too_large' })
    const place = { rule: 'slow', fault: 'rewrite', call: CALL }
    let parserError: unknown
    try {
      JSON.parse(`${SECRET}!`)
    } catch (error) {
      parserError = error
    }
    listener.failed(place, parserError)
    listener.failed(place, new Error(`x\n    at ${SECRET}`, { cause: new Error(SECRET) }))
    listener.failed(place, SECRET)
    listener.failed(place, { SECRET })
    listener.failed(place, Object.assign(new Error('x'), { headers: { authorization: SECRET } }))
    expect(lines()).toHaveLength(9)
    expect(text()).not.toContain(SECRET)
    expect(text()).not.toContain('hunter2')
    expect(JSON.stringify(recent.list())).not.toContain(SECRET)
  })

  it('cannot be hidden in long or broken names, which are cut to one line', () => {
    const { report, text, lines } = start()
    const long = `${'x'.repeat(127)}\ud83d\ude00${'y'.repeat(1_000_000)}`
    const call = { ...CALL, id: `a\n${'i'.repeat(1_000_000)}`, name: long }
    report.of('s').injected({ ...RECORD, call, effect: long })
    expect(text().length).toBeLessThan(800)
    expect(lines()).toMatchObject([{ id: `a\n${'i'.repeat(62)}` }])
  })
})

describe('the lines about injected faults', () => {
  it('are at most ten a second when they are sampled, and say how many were left out', async () => {
    let now = 5_000
    const more = { injections: 'sample', now: () => now } as const
    const { report, recent, lines } = start('info', 'full', more)
    // Exchanges share the bound.
    for (let n = 0; n < 25; n++) report.of('s').injected(RECORD)
    expect(lines()).toHaveLength(10)
    await eventually(() => (lines().length > 10 ? undefined : 'the lines left out are not logged'))
    now += 1_000
    for (let n = 0; n < 2; n++) report.of('s').injected(RECORD)
    const after = lines().slice(10)
    expect(after.map(({ msg, leftOut }) => [msg, leftOut])).toEqual([
      ['injected faults exceed the log limit; further faults are only counted', 15],
      ['fault injected', undefined],
      ['fault injected', undefined],
    ])
    expect(recent.total).toBe(27)
  })

  it('can be turned off; the admin API and metrics still have all', async () => {
    const { report, recent, lines, metrics } = start('info', 'full', { injections: 'off' })
    for (let n = 0; n < 3; n++) report.of('s').injected(RECORD)
    expect(lines()).toEqual([])
    expect(recent.total).toBe(3)
    const { text } = await metrics.render()
    expect(metricOf(text, 'squall_faults_injected_total')).toBe(3)
  })
})
