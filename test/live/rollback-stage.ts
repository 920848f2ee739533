import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { againAfterStall } from '../support/stalls.ts'
import { responding } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'
import { failing } from './rules-directory.ts'

/** Between two calls of a client, so that the tests beside these get the processor. */
const PAUSE_MS = 5
const running: RuledSquall[] = []
export const TOKEN = 'a-token-of-the-operator'
/** Rules that are active and match no call. */
export const NEVER = failing('never', 'nobody-calls-this')

/** Closes all that `start` has started. */
export async function closeAll(): Promise<void> {
  for (const each of running.splice(0)) await each.close()
}

/** Starts Squall without the guard, so that conditions alone disarm. */
export async function start(
  condition: string,
  rules: string,
  {
    flags = [],
    ...more
  }: { upstream?: RequestListener; upstreamPort?: number; flags?: readonly string[] } = {},
): Promise<RuledSquall> {
  const all = ['--rollback-on', condition, '--guard-error-rate', 'off', ...flags]
  const env = { SQUALL_ADMIN_TOKEN: TOKEN }
  const started = await startSquall({ rules, flags: all, env, ...more })
  running.push(started)
  return started
}

/** Fails calls with the header `x-break`, and takes its time for those with `x-slow`. */
export const app: RequestListener = (req, res) => {
  const fine = responding('fine')
  const { 'x-slow': slow, 'x-break': broken } = req.headers
  if (broken !== undefined) req.resume().on('end', () => void res.writeHead(500).end('broken'))
  else if (slow === undefined) fine(req, res)
  else setTimeout(() => fine(req, res), Number(slow))
}

/** Calls by several clients until all rules are disarmed; returns the milliseconds that this took. */
export async function untilDisarmed(
  { text, squall }: RuledSquall,
  tool: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const begin = performance.now()
  const { arming } = squall.running.rules!
  const client = async (): Promise<void> => {
    while (arming.armed && performance.now() - begin < 10_000) {
      await text(tool, headers)
      await sleep(PAUSE_MS)
    }
  }
  await Promise.all(Array.from({ length: 5 }, client))
  expect(arming.reasons.map(({ by }) => by)).toEqual(['rollback-on'])
  return performance.now() - begin
}

/** Calls for a while, one call after the other. */
export async function callFor(
  ms: number,
  { text }: RuledSquall,
  tool: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const end = performance.now() + ms
  while (performance.now() < end) {
    await text(tool, headers)
    await sleep(PAUSE_MS)
  }
}

/** A condition on the latency of the upstream. */
export const SLOW = 'upstream-p50>300ms for 1s'

/** Expects that the time of a fault of 400 ms does not count as latency of the upstream. */
export async function isNotCounted(fault: string): Promise<void> {
  const rules = `rules: [{ name: slow, match: { tool: probe }, faults: [{ ${fault} }] }]`
  // A machine that stands still makes the upstream slow.
  await againAfterStall(async () => expectNotCounted(await start(SLOW, rules)))
}

async function expectNotCounted(pod: RuledSquall): Promise<void> {
  const begin = performance.now()
  await Promise.all(Array.from({ length: 5 }, () => callFor(2200, pod, 'probe')))
  const { calls } = pod.squall.running.metrics.tools().find(({ tool }) => tool === 'probe')!
  expect(Object.values(calls).reduce((sum, each) => sum + each, 0)).toBeGreaterThan(5)
  expect(performance.now() - begin).toBeGreaterThan(2200)
  expect(pod.squall.running.rules!.arming.reasons).toEqual([])
}
