// part: slow
import { afterEach, expect, it } from 'vitest'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

const ROUNDS = 100

function rules(more = '', seed = 'seed: 11\n'): string {
  return `${seed}rules:
  - name: flaky
    match: { tool: probe }
    percent: 20
    ${more}
    faults: [abort: { status: 503 }]
`
}

interface Start {
  readonly text: string
  readonly pod?: string
  readonly flags?: readonly string[]
  readonly drawsSeed?: boolean
}

async function start({ text, pod, flags = [], drawsSeed = false }: Start): Promise<RuledSquall> {
  const own = pod === undefined ? flags : ['--pod', pod, ...flags]
  const started = await startSquall({ rules: text, flags: own, drawsSeed })
  running.push(started)
  return started
}

function pods(text: string): Promise<readonly RuledSquall[]> {
  return Promise.all([0, 1, 2].map((n) => start({ text, pod: `weather-${n}` })))
}

async function fails({ text }: RuledSquall, user = 'anybody'): Promise<boolean> {
  return (await text('probe', { 'x-user': user })) === '503'
}

/** The first calls of a replica, as 0 and 1. */
async function beginning(squall: RuledSquall, calls = 40): Promise<string> {
  let found = ''
  for (let i = 0; i < calls; i++) found += (await fails(squall)) ? '1' : '0'
  return found
}

interface State {
  readonly rules: { readonly seed: number; readonly generation: number }
}

async function stateOf({ squall }: RuledSquall): Promise<State['rules']> {
  return ((await (await fetch(`${squall.admin}/api/state`)).json()) as State).rules
}

/** Counts the rounds by the number of replicas that fail; each gets one call in a round. */
async function roundRobin(replicas: readonly RuledSquall[]): Promise<readonly number[]> {
  const rounds = [0, 0, 0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const failed = await Promise.all(replicas.map((each) => fails(each)))
    rounds[failed.filter(Boolean).length]!++
  }
  return rounds
}

it('replicas fail independently of each other when calls go round them', async () => {
  const [none, one, two, all] = await roundRobin(await pods(rules()))
  // By chance: 51, 38, 10 and 0.8 of 100 rounds.
  expect(none).toBeGreaterThan(33)
  expect(one).toBeGreaterThan(22)
  expect(two).toBeGreaterThan(1)
  expect(all).toBeLessThan(5)
})

it('replicas fail together with shareSamples', async () => {
  const [, one, two, all] = await roundRobin(await pods(rules('shareSamples: true')))
  expect([one, two]).toEqual([0, 0])
  expect(all).toBeGreaterThan(9)
})

it('a retry on the next replica fails as often as a first attempt', async () => {
  const replicas = await pods(rules())
  let first = 0
  let second = 0
  for (let i = 0; i < ROUNDS; i++) {
    if (!(await fails(replicas[i % 3]!))) continue
    first++
    if (await fails(replicas[(i + 1) % 3]!)) second++
  }
  expect(first).toBeGreaterThan(9)
  expect(second / first).toBeLessThan(0.6)
})

it('replicas agree about a sticky property, also when each draws its own seed', async () => {
  const text = rules('stickyBy: { header: x-user }', '')
  const [one, two] = await Promise.all(
    ['a', 'b'].map((pod) => start({ text, pod, drawsSeed: true })),
  )
  let failed = 0
  for (let i = 0; i < 40; i++) {
    const callState = await fails(one!, `user-${i}`)
    expect(await fails(two!, `user-${i}`)).toBe(callState)
    if (callState) failed++
  }
  expect(failed).toBeGreaterThan(0)
  // Calls without the property have nothing to agree about.
  const alone = await Promise.all(
    [one!, two!].map(async ({ text: ask }) => {
      let found = ''
      for (let i = 0; i < 50; i++) found += await ask()
      return found
    }),
  )
  expect(alone[0]).not.toBe(alone[1])
})

it('a start draws a seed, reports it everywhere and keeps it over a reload', async () => {
  const text = rules('', '')
  const [one, two] = await Promise.all([0, 1].map(() => start({ text, drawsSeed: true })))
  const [{ seed }, other] = await Promise.all([stateOf(one!), stateOf(two!)])
  expect(other.seed).not.toBe(seed)
  expect(await one!.squall.metric('squall_rules_info', { seed: String(seed) })).toBe(1)
  expect((await one!.squall.logged('active rules'))['seed']).toBe(seed)

  const drawn = await beginning(one!)
  expect(await beginning(two!)).not.toBe(drawn)
  await one!.mounted.swap(`${text}    then: stop\n`)
  await one!.squall.reaches('squall_rules_info', { generation: '2' }, 1)
  expect((await stateOf(one!)).seed).toBe(seed)

  // The option and the rules repeat the drawn seed.
  const [byOption, byRules] = await Promise.all([
    start({ text, flags: ['--seed', String(seed)] }),
    start({ text: rules('', `seed: ${seed}\n`), flags: ['--seed', '1'] }),
  ])
  expect(await beginning(byOption)).toBe(drawn)
  expect(await beginning(byRules)).toBe(drawn)
})
