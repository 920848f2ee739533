// Durations, sizes and shares have the same forms wherever people write them.
import { describe, expect, it } from 'vitest'
import type { LoadRequest } from '../../packages/experiments/src/commands/load.ts'
import type { RunOptions } from '../../src/sidecar/run-options.ts'
import { ANNOTATIONS } from '../../packages/kubernetes/src/injector/annotations.ts'
import { readPlan } from '../../packages/experiments/src/experiment/read-plan.ts'
import { parseSlo } from '../../packages/experiments/src/load/results/slo.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import type { Rule } from '../../src/rules/file/schema.ts'
import { askedBy } from '../support/commands/command-line.ts'

type Read = (text: string) => unknown

/** Returns undefined where a text is rejected. */
const tried =
  (read: Read): Read =>
  (text) => {
    try {
      return read(text)
    } catch {
      return undefined
    }
  }

const annotation = (key: string): Read => {
  const { check } = ANNOTATIONS.find((each) => each.key === key)!
  return (text) => check(text) === undefined
}

const rule = (written: string, at: (rule: Rule) => unknown): Read => {
  return (text) => {
    const yaml = `rules: [{ name: a, match: { tool: t }, ${written.replace('X', text)} }]`
    const parsed = parseRules(yaml)
    return parsed.ok ? at(parsed.file.rules[0]!) : undefined
  }
}

const PLAN = `name: a
target: { url: http://127.0.0.1:1/mcp, environment: test }
sidecar: { admin: http://127.0.0.1:2, rulesFile: ./rules.yaml }
steadyState: { p95: 1s }
rules: [{ name: a, match: { tool: t }, faults: [delay: { fixed: 1s }] }]
stages: [10%]
load: { tools: [t] }
abortOn: { LIMIT }
`

/** The limit of a gate of an experiment: as it is, and in quotation marks. */
const planned = (measure: string, quote = ''): Read => {
  return (text) => {
    const plan = PLAN.replace('LIMIT', `${measure}: ${quote}${text}${quote}`)
    const source = {
      file: 'plan.yaml',
      directory: '/nowhere',
      readText: () => Promise.reject(new Error('no file')),
    }
    return readPlan(plan, source).then((read) => (read.ok ? read.plan.aborts[0]!.limit : undefined))
  }
}

const run = (flag: string, of: (options: RunOptions) => unknown): Read => {
  return (text) => of(askedBy('run', { [flag]: text }) as RunOptions)
}

const DURATIONS: Readonly<Record<string, Read>> = {
  'a rule': rule('faults: [delay: { fixed: X }]', fixedOf),
  'a rule, quoted': rule('faults: [delay: { fixed: "X" }]', fixedOf),
  'squall run --drain-timeout': run('drain-timeout', ({ drainTimeout }) => drainTimeout),
  'squall wait-ready --ready-wait': (text) =>
    (askedBy('wait-ready', { 'ready-wait': text }) as { waitMs: number }).waitMs,
  'squall load --ramp': (text) =>
    (askedBy('load', { target: 'http://localhost/mcp', ramp: text }) as LoadRequest).pace.rampMs,
  'squall load --slo': (text) => parseSlo(`p95<${text}`).limit,
  'a gate of a plan': planned('p95'),
  'a gate of a plan, quoted': planned('p95', '"'),
}

function fixedOf({ faults }: Rule): number {
  return (faults[0]!.config as { readonly fixed: number }).fixed
}

describe('a duration', () => {
  it.each([
    ['300ms', 300],
    ['5s', 5_000],
    ['1.5m', 90_000],
    ['1h', 3_600_000],
    ['0', 0],
    ['0s', 0],
    ['5', undefined],
    ['5 s', undefined],
    ['-5s', undefined],
    ['5S', undefined],
  ])('%s is %s everywhere', async (text, ms) => {
    for (const [place, read] of Object.entries(DURATIONS)) {
      expect(await tried(read)(text), place).toBe(ms)
    }
    if (ms !== 0) expect(annotation('max-duration')(text)).toBe(ms !== undefined)
  })
})

const SIZES: Readonly<Record<string, Read>> = {
  'a rule': rule('faults: [inflate: { to: X }]', toOf),
  'a rule, quoted': rule('faults: [inflate: { to: "X" }]', toOf),
  'squall run --max-body': run('max-body', ({ maxBody }) => maxBody),
}

function toOf({ faults }: Rule): number {
  return (faults[0]!.config as { readonly to: number }).to
}

describe('a size', () => {
  it.each([
    ['2048', 2_048],
    ['2048B', 2_048],
    ['64KiB', 65_536],
    ['4MB', 4_000_000],
    ['64KB', undefined],
    ['64 KiB', undefined],
    ['1.5MiB', undefined],
  ])('%s is %s everywhere', async (text, bytes) => {
    for (const [place, read] of Object.entries(SIZES)) {
      expect(await tried(read)(text), place).toBe(bytes)
    }
  })
})

const SHARES: Readonly<Record<string, Read>> = {
  'a rule': rule('percent: X, faults: [delay: { fixed: 1s }]', ({ percent }) => percent),
  'a rule, quoted': rule('percent: "X", faults: [delay: { fixed: 1s }]', ({ percent }) => percent),
  'squall run --max-percent': run('max-percent', ({ rules }) => rules.limits.maxPercent),
  'squall load --slo': (text) => parseSlo(`blast<${text}`).limit * 100,
  'a gate of a plan': async (text) => ofOne(await planned('errors')(text)),
  'a gate of a plan, quoted': async (text) => ofOne(await planned('errors', '"')(text)),
}

function ofOne(share: unknown): unknown {
  return typeof share === 'number' ? share * 100 : share
}

describe('a share', () => {
  it.each([
    ['20%', 20],
    ['20', 20],
    ['12.5%', 12.5],
    ['0', 0],
    ['100', 100],
    ['101%', undefined],
    ['101', undefined],
    ['20 %', undefined],
    ['-1%', undefined],
  ])('%s is %s everywhere', async (text, percent) => {
    for (const [place, read] of Object.entries(SHARES)) {
      expect(await tried(read)(text), place).toBe(percent)
    }
    expect(annotation('max-percent')(text)).toBe(percent !== undefined)
  })
})
