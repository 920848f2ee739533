// part: slow-nightly
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addToHistory } from '../../src/experiment/history.ts'
import type { Plan } from '../../src/experiment/plan.ts'
import { RejectedError } from '../../src/experiment/rejection.ts'
import { predict } from '../../src/simulate/interval.ts'
import { type Measurement, measurementOf } from '../../src/simulate/measured.ts'
import { type SimulateOptions, simulate } from '../../src/simulate/simulate.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import type { Changes, ExperimentStage } from '../experiment/stage.ts'

let stage: ExperimentStage
let directory: string

beforeAll(async () => {
  stage = await startSquall({ experiment: {} })
  directory = await mkdtemp(join(tmpdir(), 'squall-simulate-'))
})

afterAll(async () => {
  await stage.close()
  await rm(directory, { recursive: true })
})

/** A tool with 100 ms, of which no call fails. */
const measurement: Measurement = {
  source: 'test',
  startedAt: '2026-01-01T00:00:00.000Z',
  calls: 1e6,
  retries: 0,
  tools: new Map([['work', { attempts: 1e6, failures: [], latencies: [[100, 1e6]] }]]),
}

async function simulated(changes: Changes, options: Partial<SimulateOptions> = {}) {
  const found = await simulate({
    plan: await stage.plan(changes),
    measurements: [measurement],
    pods: 4,
    tasks: 600,
    maxCalls: 20_000,
    seed: 1,
    stop: new AbortController().signal,
    onProgress: () => {},
    ...options,
  })
  return found!
}

async function rejection(plan: Plan, options: Partial<SimulateOptions> = {}): Promise<string> {
  const asked = simulate({
    plan,
    measurements: [measurement],
    pods: 1,
    tasks: 10,
    seed: 1,
    stop: new AbortController().signal,
    onProgress: () => {},
    ...options,
  })
  const error = await asked.catch((each: unknown) => each)
  if (!(error instanceof RejectedError)) throw new Error('it was not rejected')
  return error.message
}

describe('the prediction', () => {
  it('is that of probability theory where this knows it', async () => {
    // A task fails when one of its three calls fails twice.
    const load = { fanOut: 3, retries: 1 }
    const { stages } = await simulated({ load, stages: ['10%', '40%'] })
    expect(stages.map(({ share }) => share)).toEqual([10, 40])
    for (const { share, predicted } of stages) {
      const p = share / 100
      const failed = 1 - (1 - p * p) ** 3
      expect(predicted.failed!.low).toBeLessThan(failed)
      expect(predicted.failed!.high).toBeGreaterThan(failed)
      expect(predicted.failed!.value).toBeCloseTo(failed, 1)
      expect(predicted.touched!.value).toBeCloseTo(1 - (1 - p) ** 3, 1)
      expect(predicted.retries!.value / (1800 * p)).toBeCloseTo(1, 0)
      expect(predicted.success!.value).toBeCloseTo(1 - predicted.failed!.value, 6)
    }
  })

  it('adds delays, and cuts calls at the timeout', async () => {
    const delay = (fixed: string) => [{ name: 'late', faults: [{ delay: { fixed } }] }]
    const slow = await simulated({ rules: delay('300ms'), stages: ['100%'] })
    expect(slow.stages[0]!.predicted.addedP50!.value).toBeCloseTo(300, -1)
    expect(slow.stages[0]!.predicted.failed!.value).toBe(0)
    const cut = await simulated({ rules: delay('2s'), stages: ['100%'], load: { timeout: '1s' } })
    expect(cut.stages[0]!.predicted.p99!.value).toBeCloseTo(1000, -1)
    expect(cut.stages[0]!.predicted.success!.value).toBe(0)
  })

  it('counts by pods what each sidecar limits by itself', async () => {
    const rules = [{ name: 'few', times: 3, faults: [{ abort: { status: 500 } }] }]
    const { stages } = await simulated({ rules, stages: ['100%'] }, { pods: 50, tasks: 500 })
    expect(stages[0]!.predicted.injected).toEqual({ value: 150, low: 150, high: 150 })
  })

  it('is the same for the same seed, and narrower for more tasks', async () => {
    const one = await simulated({}, { tasks: 400 })
    expect(await simulated({}, { tasks: 400 })).toEqual(one)
    expect(await simulated({}, { tasks: 400, seed: 2 })).not.toEqual(one)
    const width = ({ stages }: typeof one): number => {
      const { low, high } = stages[0]!.predicted.failed!
      return high - low
    }
    expect(width(await simulated({}, { tasks: 4000 }))).toBeLessThan(0.7 * width(one))
  })

  it('is wider where few calls were measured', async () => {
    const tools = new Map([
      ['work', { attempts: 40, failures: [{ response: BAD, count: 4 }], latencies: [[1, 36]] }],
    ] as const)
    const many = new Map([
      ['work', { attempts: 4e5, failures: [{ response: BAD, count: 4e4 }], latencies: [[1, 1e5]] }],
    ] as const)
    const [few, sure] = await Promise.all(
      [tools, many].map(async (each) => {
        const from = [{ ...measurement, tools: each }]
        const { stages } = await simulated({}, { measurements: from, tasks: 4000, maxCalls: 1e5 })
        return stages[0]!.predicted.failed!
      }),
    )
    expect(few!.high - few!.low).toBeGreaterThan(2 * (sure!.high - sure!.low))
  })

  it('ends when it is stopped, also within a stage of a pod', async () => {
    const stop = new AbortController()
    setImmediate(() => stop.abort())
    let rounds = 0
    const onProgress = (): void => void rounds++
    const options = { stop: stop.signal, pods: 1, tasks: 150_000, onProgress }
    expect(await simulated({}, options)).toBeUndefined()
    expect(rounds).toBe(0)
  })
})

const BAD = { kind: 'tool', markers: [] } as const

describe('the interval', () => {
  it('narrows what a sample of the pods differs by to what the fleet differs by', () => {
    // Pods of 0 and 1: a round of two differs much, a fleet of 10,000 does not.
    const rounds = Array.from({ length: 199 }, (_, i) => {
      const pods = [i % 2, (i >> 1) % 2]
      return { whole: (pods[0]! + pods[1]!) / 2, pods }
    })
    const { low, high } = predict(rounds, 10_000)!
    expect(high - low).toBeLessThan(0.1)
    const own = predict(rounds, 2)!
    expect([own.low, own.high]).toEqual([0, 1])
  })
})

describe('a plan that cannot be modelled', () => {
  it.each([
    [{ rules: [{ name: 'r', faults: [{ throttle: { rate: '1KiB' } }] }] }, 'throttle depends on'],
    [{ rules: [{ name: 'r', faults: [{ hang: { at: 'headers' } }] }] }, 'hang at: headers'],
    [
      { rules: [{ name: 'r', match: { args: { '/a': 1 } }, faults: [{ hang: {} }] }] },
      'match.args is not modelled',
    ],
    [
      { rules: [{ name: 'r', stickyBy: 'session', faults: [{ hang: {} }] }] },
      'stickyBy is not modelled',
    ],
    [
      { kill: { pidFile: 'server.pid', command: 'node', restartWithin: '5s' } },
      'a killed process is not modelled',
    ],
    [{ exhaust: { sessions: 5 } }, 'held sessions are not modelled'],
    [{ target: { indirect: true } }, 'calls behind the target are unknown'],
  ])('is rejected with what to do: %j', async (changes: Changes, why) => {
    const text = await rejection(await stage.plan(changes))
    expect(text).toContain(`NOT_MODELLED: `)
    expect(text).toContain(why)
    expect(text).toMatch(/; (remove the rule|run the plan)/)
  })

  it('is rejected when a pod would make too many calls', async () => {
    const plan = await stage.plan({ load: { rate: 1000 }, hold: '1h' })
    expect(await rejection(plan, { tasks: undefined })).toContain(
      'limit the stages with --fleet-tasks',
    )
    expect(await rejection(plan, { tasks: 1e8 })).toContain('lower --fleet-tasks, or raise --pods')
  })
})

describe('a measurement', () => {
  it('whose shortest latency is 0 does not make clients call without end', async () => {
    const tools = new Map([
      [
        'work',
        {
          attempts: 1e6,
          failures: [],
          latencies: [
            [0, 1],
            [300, 1e6],
          ],
        },
      ],
    ] as const)
    const rules = [{ name: 'down', faults: [{ abort: { status: 500 } }] }]
    const load = { clients: 10, rate: undefined }
    const plan = await stage.plan({ rules, load, stages: ['100%'], hold: '1m' })
    const options = { measurements: [{ ...measurement, tools }], tasks: undefined }
    expect(await rejection(plan, options)).toContain('call again as fast as calls fail')
  })

  it('with impossible counts is rejected', async () => {
    const { before } = await stage.run({ load: { rate: 400 }, steadyState: { for: '500ms' } })
    const { load } = before
    const tools = load!.tools.map((tool) => ({ ...tool, retries: 1e300 }))
    expect(() => measurementOf('a.json', { ...load!, tools }, [])).toThrow('inconsistent counts')
  })
})

describe('the command', () => {
  const run = (...args: readonly string[]) =>
    startProgram(
      ['experiment', 'simulate', ...args, '--experiments', directory],
      {},
      { here: true },
    )

  async function planFile(changes: Changes = {}): Promise<string> {
    const file = join(directory, 'plan.yaml')
    await writeFile(file, stage.text(changes))
    return file
  }

  it('predicts from a measured load', async () => {
    const result = join(directory, 'result.json')
    const url = `http://127.0.0.1:${stage.squall.port}/mcp`
    const load = [
      'load',
      '--target',
      url,
      '--tools',
      'work',
      '--task-count',
      '100',
      '--out',
      result,
    ]
    expect((await startProgram([...load, '--json'], {}, { here: true })).code).toBe(0)
    const from = ['--results', result, '--pods', '2', '--fleet-tasks', '4e1']
    const { code, stdout } = await run(await planFile(), ...from, '--json')
    expect(code).toBe(0)
    const simulation = JSON.parse(stdout) as Awaited<ReturnType<typeof simulated>>
    expect(simulation).toMatchObject({
      schema: 'squall.simulation/1',
      pods: 2,
      sources: [{ source: result, calls: 100 }],
    })
    const { touched } = simulation.stages[0]!.predicted
    expect(touched!.low).toBeLessThan(0.2)
    expect(touched!.high).toBeGreaterThan(0.2)
    const { stdout: text } = await run(await planFile(), ...from)
    expect(text).toMatch(/^Stage 20%$/m)
    expect(text).toMatch(/^tasks failed +\S+ % +\S+ % +\S+ %$/m)
    expect(text).toContain(`${result}: 100 calls from`)
    expect(text).toContain('Not modelled:')
    const other = await run(await planFile({ load: { tools: ['rest'] } }), ...from, '--json')
    expect(other.code).toBe(1)
    expect(other.stdout).toContain('contains 0 calls of \\"rest')
  })

  it('uses past experiments on the target, without those that cannot be used', async () => {
    const result = await stage.run({ load: { rate: 400 }, steadyState: { for: '500ms' } })
    const past = join(directory, 'past')
    await mkdir(join(past, result.id), { recursive: true })
    await writeFile(join(past, result.id, 'report.json'), JSON.stringify(result))
    await addToHistory(past, result)
    await addToHistory(past, { ...result, id: '20260101-000000-000000' })
    const line = ['experiment', 'simulate', await planFile(), '--experiments', past, '--json']
    const { stdout } = await startProgram([...line, '--fleet-tasks', '20'], {}, { here: true })
    const { sources } = JSON.parse(stdout) as Awaited<ReturnType<typeof simulated>>
    expect(sources.map(({ source }) => source)).toEqual([`run ${result.id}`])
    expect(sources[0]!.calls).toBe(result.before.load!.counts.calls)
  })

  it('rejects rules with stages of their own, as a run does', async () => {
    const ramp = { to: 80, over: '10s' }
    const rules = [{ name: 'down', ramp, faults: [{ abort: { status: 500 } }] }]
    const { code, stdout } = await run(await planFile({ rules }), '--json')
    expect(code).toBe(1)
    expect(stdout).toContain('"RULES_STAGED"')
  })

  it('names the next step where nothing was measured, or no result is given', async () => {
    const nothing = await run(await planFile(), '--json')
    expect(nothing.code).toBe(1)
    expect(nothing.stdout).toContain('NOT_MEASURED')
    expect(nothing.stdout).toContain('squall load --target URL --task-count 1000 --out result.json')
    const words = ['experiment', 'simulate', await planFile(), '--experiments', directory]
    const { stderr } = await startProgram(words).finished()
    expect(stderr).toMatch(/^NOT_MEASURED: [^\n]+\nnothing was simulated\n$/)
    const file = join(directory, 'no-result.json')
    await writeFile(file, '{"schema":"squall.experiment/1"}')
    expect(await run(await planFile(), '--results', file)).toMatchObject({ code: 2, stdout: '' })
    const many = await run(await planFile(), '--fleet-tasks', '1e10')
    expect(many).toMatchObject({ code: 2 })
    expect(many.stderr).toContain('write 1000000 or 1e6')
  })
})
