import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRules } from '../../src/rules/file/parse.ts'
import { eventually } from '../support/eventually.ts'
import { seedOfRun } from '../support/random.ts'
import { type Squall, startSquall } from '../support/commands.ts'
import { parseExposition } from '../telemetry/exposition.ts'
import { startUpstream } from '../support/wire.ts'
import { anyApp } from './any-app.ts'
import { callsOf, exchangeBy } from './any-client.ts'
import { FAULT_NAMES } from './any-fault.ts'
import { anyRules } from './any-rules.ts'
import { anyTraffic, type AnyExchange } from './any-traffic.ts'
import { rounds } from '../support/rounds.ts'

const RUNS = Number(process.env['SQUALL_TEST_RUNS'] ?? rounds(10, 100))
const HELD = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap', 'FSEventWrap', 'StatWatcher']

test('under any rules and any traffic nothing breaks, hangs, leaks or is miscounted', async () => {
  const seen = new Set<string>()
  const before = held()
  await fc.assert(
    fc.asyncProperty(anyRules, anyTraffic, async (rules, traffic) => {
      for (const fault of await run(rules, traffic)) seen.add(fault)
      await eventually(() => {
        const now = held()
        const more = now.filter((count, index) => count > before[index]!)
        return more.length === 0 ? undefined : `left behind: ${HELD.join()} ${now.join()}`
      })
    }),
    {
      numRuns: RUNS,
      seed: seedOfRun() | 0,
      endOnFailure: process.env['SQUALL_TEST_SHRINK'] === undefined,
    },
  )
  const idle = FAULT_NAMES.filter((name) => !seen.has(name))
  process.stderr.write(`${RUNS} runs; faults that never acted: ${idle.join() || 'none'}\n`)
}, 120_000)

/** Counts the resources of each kind that keep a process alive. */
function held(): number[] {
  const all = process.getActiveResourcesInfo()
  return HELD.map((kind) => all.filter((each) => each === kind).length)
}

/** The text of an exchange without the comments of its event stream. */
function withoutComments(text: string): string {
  return text.replace(/(?<=\\n\\n|"):[^"\\]*\\n\\n/g, '')
}

/** Tells which faults acted. */
async function run(rules: object, traffic: readonly AnyExchange[]): Promise<readonly string[]> {
  const app = await startUpstream(anyApp())
  // Without a file to be watched it starts sooner.
  const flags = ['--in-flight-ttl', '100ms', '--header-faults']
  const squall = await startSquall('--upstream', app.url, ...flags)
  const parsed = parseRules(JSON.stringify(rules))
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  squall.running.rules!.take({ kind: 'rules', digest: parsed.digest, file: parsed.file })
  try {
    const got = await Promise.all(
      traffic.map((how, index) => exchangeBy(squall.port, how, `s${index}`)),
    )
    // One call comes again: some faults give what they have seen before.
    const again = traffic.findIndex(({ kind }) => kind === 'call')
    if (again >= 0) await exchangeBy(squall.port, { ...traffic[again]!, again: true }, `s${again}`)
    await quiet(squall)
    const injected = squall.logs.filter(({ msg }) => msg === 'fault injected')
    const later = squall.logs.filter(({ msg }) => msg === 'injected fault continues')
    const sessions = new Set([...injected, ...later].map(({ session }) => session as string))
    const known = traffic.map((_, index) => hashOf(`s${index}`))
    const pushHit = [...sessions].some((session) => !known.includes(session))
    const reorders = JSON.stringify(rules).includes('"reorder"')
    let matched = 0
    for (const [index, how] of traffic.entries()) {
      expect(got[index]).not.toMatchObject({ kind: 'hung' })
      const touched = sessions.has(known[index]!) || (how.kind === 'push' && pushHit)
      if (touched) matched += callsOf(how) + Number(index === again)
      // A rule about HTTP may hold an event of a stream without end until the next one is there.
      if (how.kind === 'push' && how.marked) continue
      if (touched || got[index]!.kind !== 'answered' || how.breaks?.how === 'reset') continue
      const direct = await exchangeBy(app.port, how, `s${index}`)
      // An event that waits to change places with the next event does not hold up comments.
      const seenAs = reorders ? withoutComments : String
      expect(seenAs(JSON.stringify({ how, got: got[index] }))).toBe(
        seenAs(JSON.stringify({ how, got: direct })),
      )
    }
    expect(squall.logs.filter(({ level }) => level === 'error' || level === 50)).toEqual([])
    const made = traffic.filter((_, index) => got[index]!.kind !== 'no stream')
    const calls = made.reduce((sum, how) => sum + callsOf(how), again >= 0 ? 1 : 0)
    expect(await squall.metric('squall_calls_total')).toBe(calls)
    expect(await squall.metric('squall_faults_injected_total')).toBe(injected.length)
    const blamed = await squall.metric('squall_calls_total', { origin: 'injected' })
    expect(blamed).toBeLessThanOrEqual(matched)
    return injected.map(({ fault }) => fault as string)
  } finally {
    await squall.close()
    await app.close()
  }
}

/** Waits until nothing is open, held or undecided. */
async function quiet(squall: Squall): Promise<void> {
  await eventually(async () => {
    const families = parseExposition(await (await fetch(`${squall.admin}/metrics`)).text())
    const sum = (name: string, ...not: readonly string[]): number =>
      families
        .get(name)!
        .lines.filter(({ labels }) => !not.includes(labels['kind'] ?? ''))
        .reduce((total, { value }) => total + value, 0)
    const open = {
      pending: sum('squall_in_flight_requests'),
      connections: sum('squall_connections', 'upstream'),
      streams: sum('squall_open_streams'),
      active: sum('squall_active_faults'),
      undecided: sum('squall_rule_matches_total') - sum('squall_rule_evaluations_total'),
    }
    return Object.values(open).every((value) => value === 0) ? undefined : JSON.stringify(open)
  })
}

function hashOf(session: string): string {
  return createHash('sha256').update(session).digest('hex').slice(0, 8)
}
