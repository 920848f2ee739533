// part: slow
import { afterEach, expect, it } from 'vitest'
import { call, callMessage, responding, startUpstream } from '../support/wire.ts'
import { type RuledSquall, startProgram, startSquall } from '../support/commands.ts'
import { mountRules } from './rules-directory.ts'
import { rounds } from '../support/rounds.ts'

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

const USERS = rounds(100, 200)
const CALLS = rounds(60, 150)

const RULES = `seed: 11
rules:
  - name: by-user
    match: { tool: probe }
    percent: 40
    stickyBy: { header: x-user }
    faults: [abort: { toolError: by-user }]
  - name: by-order
    match: { tool: ordered }
    percent: 40
    faults: [abort: { toolError: by-order }]
`

async function start(rules: string): Promise<RuledSquall> {
  const started = await startSquall({ rules, flags: ['--log-level', 'error'] })
  running.push(started)
  return started
}

/** A replica in a process of its own, on rules of its own. */
async function replica(appPort: number): Promise<{ port: number; stop(): Promise<void> }> {
  const mounted = await mountRules(RULES)
  const places = ['--listen', '127.0.0.1:0', '--upstream', `http://127.0.0.1:${appPort}`]
  const program = startProgram(['run', ...places, '--admin', 'off', '--rules', mounted.file])
  const { address } = await program.logged('listening')
  return {
    port: Number(String(address).split(':').at(-1)),
    stop: async () => {
      await program.kill()
      await mounted.remove()
    },
  }
}

it('two replicas agree, call by call, where the key is shared', async () => {
  const app = await startUpstream(responding('fine'))
  const [one, two] = await Promise.all([replica(app.port), replica(app.port)])
  const callStates = async (port: number, users: readonly number[]): Promise<string[]> => {
    const found: string[] = []
    for (const user of users) {
      const headers = { 'x-user': `user-${user}` }
      const { text } = await call({ port, host: '127.0.0.1', headers }, callMessage(user, 'probe'))
      found[user] = text.includes('by-user') ? 'by-user' : 'fine'
    }
    return found
  }
  try {
    const users = Array.from({ length: USERS }, (_, user) => user)
    const first = await callStates(one.port, users)
    expect(await callStates(two.port, users.toReversed())).toEqual(first)
    expect(first.filter((callState) => callState === 'by-user').length).toBeGreaterThan(USERS / 5)
    expect(first.filter((callState) => callState === 'fine').length).toBeGreaterThan(USERS / 2.5)
  } finally {
    await one.stop()
    await two.stop()
    await app.close()
  }
})

it('two runs with one seed are identical, and other rules change nothing', async () => {
  const more = `${RULES}  - name: more\n    match: { tool: '*' }\n    percent: 50\n    faults: [delay: { fixed: 1ms }]\n`
  const runs: string[][] = []
  for (const rules of [RULES, RULES, more]) {
    const { text } = await start(rules)
    const callStates: string[] = []
    for (let i = 0; i < CALLS; i++) callStates.push(await text('ordered'))
    runs.push(callStates)
  }
  expect(runs[1]).toEqual(runs[0])
  expect(runs[2]).toEqual(runs[0])
})
