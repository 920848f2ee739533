// part: agents
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import {
  type Agent,
  openAgent,
  propose,
  type ToolResult,
  trust,
} from '../../packages/experiments/test/mcp-server/agent.ts'
import type { Open } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { type Squall, startProgram, startSquall } from '../support/commands.ts'
import { againAfterStall } from '../support/stalls.ts'
import { freePort } from '../support/wire.ts'

// Runs the experiments of examples/agents/README.md on its shop. Needs nothing more than Node.

const EXAMPLE = fileURLToPath(new URL('../../examples/agents/', import.meta.url))
const PLANS = ['1-latency', '2-unavailable', '3-errors', '4-timeouts']

let directory: string
let orders: string
let squall: Squall

function at(name: string): string {
  return join(directory, name)
}

/** Plays with the shop, whose programs end afterwards. */
function inShop(play: (agent: Agent) => Promise<void>, ...flags: readonly string[]) {
  return () =>
    againAfterStall(async (open) => {
      const own = await mkdtemp(join(tmpdir(), 'squall-shop-'))
      open({ close: () => rm(own, { recursive: true, force: true }) })
      directory = own
      await cp(EXAMPLE, directory, { recursive: true })
      await startShop(open, flags)
      await play(open(await connect()))
    })
}

/** Starts the shop and the sidecar between its servers. */
async function startShop(open: Open, flags: readonly string[]): Promise<void> {
  const inventory = await freePort()
  const upstream = `http://127.0.0.1:${inventory}`
  const own = ['--upstream', upstream, '--rules', at('rules.yaml'), '--environment', 'staging']
  const [, condition = ''] =
    /--rollback-on '(.+)'/.exec(await readFile(at('README.md'), 'utf8')) ?? []
  squall = open(await startSquall(...own, '--rollback-on', condition))
  const env = {
    INVENTORY_PORT: String(inventory),
    ORDERS_PORT: '0',
    INVENTORY_URL: `http://127.0.0.1:${squall.port}/mcp`,
  }
  const shop = startProgram([join(EXAMPLE, 'shop.mjs'), ...flags], env, {
    program: process.execPath,
  })
  open({ close: () => shop.kill() })
  await until(() => shop.stdout().includes('orders http'), 'the shop does not start')
  orders = /^orders (\S+)$/m.exec(shop.stdout())![1]!
  for (const plan of PLANS) {
    await change(plan, ['target', 'url'], orders)
    await change(plan, ['sidecar', 'admin'], squall.admin)
    await change(plan, ['sidecar', 'rulesFile'], at('rules.yaml'))
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

/** Connects an agent whose person approves all runs. */
async function connect(): Promise<Agent> {
  const flags = {
    policy: at('squall-policy.yaml'),
    sidecar: `${new URL(squall.admin).host}=${at('rules.yaml')}`,
    target: orders,
    audit: at('audit.jsonl'),
    experiments: at('experiments'),
    'state-dir': at('state'),
  }
  await trust(flags.policy)
  const server = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
  return openAgent({ sdk: 'v2', approves: true, server })
}

/** Proposes a plan as it is in the example, and runs it. */
async function run(agent: Agent, plan: string): Promise<ToolResult> {
  const asked = await propose(agent, await readFile(at(`${plan}.yaml`), 'utf8'))
  return agent.call('run_experiment', asked)
}

const TRIES_MS = 900_000
const DISARMED = '--rollback-on disarmed all rules; squall resume -t arms them again'

test(
  'three experiments pass, and the fourth ends when the sidecar sees the retry storm',
  inShop(async (agent) => {
    for (const plan of PLANS.slice(0, 3)) {
      const { data, text } = await run(agent, plan)
      expect(data, text).toMatchObject({ verdict: 'passed' })
    }
    const { data, text } = await run(agent, PLANS[3]!)
    expect(data).toMatchObject({ verdict: 'failed', code: 'GUARD', stage: '50%', restored: true })
    expect(data.why).toContain('calls>3x for 2s')
    // Every call that inventory serves was given up before.
    expect(text).toContain('Steady state after the stages: failed')
    expect(agent.questions).toHaveLength(4)
    const audit = (await readFile(at('audit.jsonl'), 'utf8')).trim().split('\n')
    const started = audit.filter((line) => line.includes('"outcome":"started"'))
    expect(started).toHaveLength(4)
  }),
  TRIES_MS,
)

test(
  'the sidecar ends the storm after agent and control server were killed',
  inShop(async (agent) => {
    // The other calls of the shop go on without the experiment.
    await change(PLANS[3]!, ['load', 'rate'], 3)
    const others = ['--tools=place_order', '--clients=60', '--rate=27/s', '--timeout=5s']
    const load = startProgram(['load', `--target=${orders}`, ...others, '--duration=120s'])
    try {
      await until(async () => (await squall.metric('squall_calls_total')) > 500, 'few calls')
      const lost = run(agent, PLANS[3]!).catch((error: unknown) => error)
      await until(
        () => agent.progress.some((line) => line.includes('stage 3 of 3')),
        'the last stage does not begin',
      )
      process.kill(agent.pid!, 'SIGKILL')
      expect(await lost).toBeInstanceOf(Error)
      const { reason } = await squall.logged(DISARMED)
      expect(reason).toContain('calls>3x for 2s')
      const state = (await (await fetch(`${squall.admin}/api/state`)).json()) as object
      expect(state).toMatchObject({ armed: false })
    } finally {
      await load.kill()
    }
  }),
  TRIES_MS,
)

test(
  'with bounded retries that are cancelled, the fourth experiment passes',
  inShop(async (agent) => {
    // The sidecar learns how many calls are usual.
    await change(PLANS[0]!, ['stages'], ['10%'])
    await change(PLANS[3]!, ['hold'], '12s')
    expect((await run(agent, PLANS[0]!)).data).toMatchObject({ verdict: 'passed' })
    const { data, text } = await run(agent, PLANS[3]!)
    expect(data, text).toMatchObject({ verdict: 'passed' })
  }, '--fixed'),
  TRIES_MS,
)
