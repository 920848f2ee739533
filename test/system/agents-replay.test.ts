import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import type { ExperimentResult } from '../../src/lab/experiment/experiment-result.ts'
import { eventually } from '../support/eventually.ts'
import { type Program, startProgram } from '../support/program.ts'
import { startSquall, type Squall } from '../support/squall.ts'
import { freePort } from './free-port.ts'

// Runs the experiments of examples/agents/README.md on its shop. Needs nothing more than Node.

const EXAMPLE = fileURLToPath(new URL('../../examples/agents/', import.meta.url))
const PLANS = ['1-latency', '2-unavailable', '3-errors', '4-timeouts']

let directory: string
let shop: Program
let orders: string
let squall: Squall

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-shop-'))
  await cp(EXAMPLE, directory, { recursive: true })
})

afterEach(async () => {
  await shop.kill()
  await squall.close()
  await rm(directory, { recursive: true, force: true })
})

function at(name: string): string {
  return join(directory, name)
}

/** Starts the shop and the sidecar between its servers. */
async function open(...flags: readonly string[]): Promise<void> {
  const inventory = await freePort()
  const upstream = `http://127.0.0.1:${inventory}`
  const own = ['--upstream', upstream, '--rules', at('rules.yaml'), '--environment', 'staging']
  const [, condition = ''] =
    /--rollback-on '(.+)'/.exec(await readFile(at('README.md'), 'utf8')) ?? []
  squall = await startSquall(...own, '--rollback-on', condition)
  const env = {
    INVENTORY_PORT: String(inventory),
    ORDERS_PORT: '0',
    INVENTORY_URL: `http://127.0.0.1:${squall.port}/mcp`,
  }
  shop = startProgram([join(EXAMPLE, 'shop.mjs'), ...flags], env, { program: process.execPath })
  await until(() => shop.stdout().includes('orders http'), 'the shop does not start')
  orders = /^orders (\S+)$/m.exec(shop.stdout())![1]!
  for (const plan of PLANS) {
    await change(plan, ['target', 'url'], orders)
    await change(plan, ['sidecar', 'admin'], squall.admin)
  }
}

async function change(plan: string, path: readonly string[], value: unknown): Promise<void> {
  const document = parseDocument(await readFile(at(`${plan}.yaml`), 'utf8'))
  document.setIn(path, value)
  await writeFile(at(`${plan}.yaml`), String(document))
}

async function until(check: () => boolean | Promise<boolean>, complaint: string): Promise<void> {
  await eventually(async () => ((await check()) ? undefined : complaint), 90_000)
}

function run(plan: string): Program {
  const policy = ['--policy', at('squall-policy.yaml')]
  const kept = ['--experiments', at('experiments'), '--state-dir', at('state')]
  return startProgram([
    'experiment',
    'run',
    at(`${plan}.yaml`),
    ...policy,
    ...kept,
    '--json',
    '--progress',
  ])
}

async function resultOf(plan: string): Promise<ExperimentResult> {
  const { stdout, stderr } = await run(plan).finished()
  expect(stdout, stderr).not.toBe('')
  return JSON.parse(stdout) as ExperimentResult
}

const DISARMED = '--rollback-on disarmed all rules; squall arm arms them again'

test('three experiments pass, and the fourth ends when the sidecar sees the retry storm', async () => {
  await open()
  for (const plan of PLANS.slice(0, 3)) {
    expect(await resultOf(plan), plan).toMatchObject({ verdict: 'passed', steadyAfter: true })
  }
  const storm = await resultOf(PLANS[3]!)
  expect(storm).toMatchObject({ verdict: 'failed', code: 'GUARD', restored: true })
  expect(storm.why).toMatch(/calls>3x for 2s/)
  // Every call that inventory serves was given up before.
  expect(storm.steadyAfter).toBe(false)
}, 300_000)

test('the sidecar ends the storm after the experiment was killed', async () => {
  await open()
  // The other calls of the shop go on without the experiment.
  await change(PLANS[3]!, ['load', 'rate'], 3)
  const traffic = [
    '--target',
    orders,
    '--tools',
    'place_order',
    '--clients',
    '60',
    '--rate',
    '27/s',
  ]
  const load = startProgram(['load', ...traffic, '--duration', '120s', '--timeout', '5s'])
  try {
    await until(async () => (await squall.metric('squall_calls_total')) > 250, 'few calls')
    const experiment = run(PLANS[3]!)
    await until(() => experiment.stderr().includes('stage 3 of 3'), 'the last stage does not begin')
    await experiment.kill()
    expect((await experiment.ended).signal).toBe('SIGKILL')
    const { reason } = await squall.logged(DISARMED)
    expect(reason).toMatch(/calls>3x for 2s/)
    const state = (await (await fetch(`${squall.admin}/api/state`)).json()) as object
    expect(state).toMatchObject({ armed: false })
  } finally {
    await load.kill()
  }
}, 180_000)

test('with bounded retries that are cancelled, the fourth experiment passes', async () => {
  await open('--fixed')
  // The sidecar learns how many calls are usual.
  await change(PLANS[0]!, ['stages'], ['10%'])
  expect(await resultOf(PLANS[0]!)).toMatchObject({ verdict: 'passed' })
  const result = await resultOf(PLANS[3]!)
  expect(result, result.why).toMatchObject({ verdict: 'passed', steadyAfter: true })
}, 180_000)
