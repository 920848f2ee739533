import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { experimentSuite } from '../../src/experiment/experiment-report.ts'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import type { LoadResult } from '../../src/load/results/result.ts'
import { junitText, loadSuite } from '../../src/report/junit.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { sampleRuns } from './sample-runs.ts'
import { ANY_CHARACTER } from '../../../../test/support/any-character.ts'

/** XML as `junitText` may write it: elements with attributes, texts, entities, and nothing else. */
const TEXT = String.raw`(?:[\t\n\x20\x21\x23-\x25\x28-\x3b\x3d\x3f-\ud7ff\ue000-\ufffd]|&(?:amp|lt|gt|quot|#39);|[\ud800-\udbff][\udc00-\udfff])*`
const ELEMENT = String.raw`<\/?[a-z]+(?: [a-z]+="${TEXT}")*\/?>`
const DOCUMENT = new RegExp(`^<\\?xml version="1.0" encoding="UTF-8"\\?>(?:${ELEMENT}|${TEXT})*$`)

/** The elements that are open at the end, or closed without having been opened. */
function unbalanced(xml: string): readonly string[] {
  const open: string[] = []
  for (const [, end, name, empty] of xml.matchAll(/<(\/?)([a-z]+)(?: [a-z]+="[^"]*")*(\/?)>/g)) {
    if (end === '/' && open.pop() !== name) return [name!]
    if (end === '' && empty === '') open.push(name!)
  }
  return open
}

let result: LoadResult

beforeAll(async () => {
  const { plain } = await sampleRuns(200)
  result = {
    ...plain,
    slo: [
      { gate: 'p99<2s', limit: 2, measured: 0.5, ok: true },
      { gate: 'success>99%', limit: 0.99, measured: 0.975, ok: false },
      { gate: 'p99<1s', limit: 1, measured: null, ok: false },
      { gate: 'p50<1s', limit: 1000, measured: 1234, ok: false },
    ],
  }
})

describe('JUnit XML', () => {
  it('has a test for each gate of a load, and fails with what was measured', () => {
    const xml = junitText(loadSuite(result))
    expect(xml).toMatch(/<testsuite name="squall load" tests="5" failures="3" errors="0"/)
    expect(xml).toContain('name="p99&lt;2s" time=')
    expect(xml).toMatch(/name="success&gt;99%"[^>]*><failure message="measured 97\.5 %">/)
    expect(xml).toMatch(/name="p99&lt;1s"[^>]*><failure message="measured nothing">/)
    expect(xml).toContain('<failure message="measured 1.23 s">')
    expect(xml).toMatch(/name="the load runs to its end" time="0"\/>/)
    const cut = { ...result, run: { ...result.run, complete: false } }
    expect(junitText(loadSuite(cut))).toContain('<failure message="it was ended early">')
  })

  it('is written for an experiment that is rejected, with each reason', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'squall-junit-'))
    try {
      const [plan, junit] = ['plan.yaml', 'junit.xml'].map((name) => join(directory, name))
      await writeFile(
        plan!,
        `name: rejected
target: { url: http://127.0.0.1:1/mcp, environment: production }
sidecar: { admin: http://127.0.0.1:1, rulesFile: rules.yaml }
steadyState: { errors: 1% }
rules: [{ name: slow, match: { tool: t }, faults: [delay: { fixed: 1s }] }]
stages: [80%]
load: { tools: [t] }
`,
      )
      const args = ['experiment', 'run', plan!, '--junit', junit!, '--experiments', directory]
      const { code } = await startProgram(args, {}, { here: true })
      expect(code).toBe(1)
      const xml = await readFile(junit!, 'utf8')
      expect(xml).toMatch(DOCUMENT)
      expect(xml).toMatch(
        /tests="1" failures="0" errors="1".*\n.*\n.*the experiment is not rejected.*<error /,
      )
      for (const reason of ['NO_GATE', 'PRODUCTION', 'STAGE_SKIPPED']) expect(xml).toContain(reason)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })

  it('has a test for each phase of an experiment, and fails the stage that ended it', () => {
    const phase = { startedAt: '2026-03-01T00:00:00.000Z', durationMs: 1500, measured: {} }
    const experiment = {
      name: 'lost search',
      startedAt: '2026-03-01T00:00:00.000Z',
      endedAt: '2026-03-01T00:00:10.000Z',
      verdict: 'failed',
      stage: '20%',
      code: 'ABORT_CONDITION',
      why: 'errors >5%',
      restored: true,
      before: { ...phase, label: 'before' },
      stages: [
        { ...phase, label: '10%' },
        { ...phase, label: '20%' },
      ],
      after: { ...phase, label: 'after' },
    } as unknown as ExperimentResult
    const { seconds, cases } = experimentSuite(experiment)
    expect(seconds).toBe(10)
    expect(cases.map(({ name, failure }) => [name, failure])).toEqual([
      ['before', undefined],
      ['10%', undefined],
      ['20%', 'failed at 20%: errors >5% (ABORT_CONDITION)'],
      ['after', undefined],
      ['the rules are restored', undefined],
      ['the experiment passes', 'failed at 20%: errors >5% (ABORT_CONDITION)'],
    ])
  })

  it('is well-formed, whatever names and reasons hold', () => {
    const foreign = fc.string({ unit: ANY_CHARACTER, maxLength: 40 })
    fc.assert(
      fc.property(foreign, foreign, foreign, (name, gate, failure) => {
        const cases = [{ name: gate, seconds: 1, failure }]
        const xml = junitText({ name, startedAt: '2026', seconds: 1, cases })
        expect(xml).toMatch(DOCUMENT)
        expect(unbalanced(xml)).toEqual([])
      }),
    )
  })
})
