// part: slow
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { againAfterStall } from '../support/stalls.ts'
import type { RuledSquall } from '../support/commands.ts'
import {
  app,
  callFor,
  closeAll,
  isNotCounted,
  NEVER,
  SLOW,
  start,
  TOKEN,
  untilDisarmed,
} from './rollback-stage.ts'
import { failing } from './rules-directory.ts'

afterEach(closeAll)

const RELEASED = '--rollback-on disarmed all rules; squall resume -t arms them again'

async function changed(pod: RuledSquall, what: 'arm' | 'disarm', token?: string): Promise<number> {
  const response = await fetch(`${pod.squall.admin}/api/${what}`, {
    method: 'POST',
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  })
  return response.status
}

const REAL = 'real-errors>20% for 400ms'
const BROKEN = { 'x-break': '1' }

describe('real errors', () => {
  it('disarm after their time, for good, with the reason everywhere; and an operator arms', async () => {
    const pod = await start(REAL, failing('one'), { upstream: app })
    expect(await pod.text()).toBe('one')
    expect(await untilDisarmed(pod, 'plain', BROKEN)).toBeGreaterThanOrEqual(400)
    const { squall, mounted, text } = pod
    expect(await squall.metric('squall_armed')).toBe(0)
    expect(await squall.metric('squall_disarmed_reason', { reason: 'rollback-on' })).toBe(1)
    expect(await squall.metric('squall_guard_trips_total', { reason: 'real_errors' })).toBe(1)
    const reason = expect.stringMatching(
      /^real-errors>20% for 400ms: \d+ of \d+ calls had real errors/,
    )
    expect(await squall.logged(RELEASED)).toMatchObject({ level: 'warn', reason })
    const state = (await (await fetch(`${squall.admin}/api/state`)).json()) as object
    expect(state).toMatchObject({ armed: false, reasons: [{ by: 'rollback-on', reason }] })

    await mounted.swap(`enabled: true\n${failing('two')}`)
    await eventually(() =>
      squall.running.rules!.current?.generation === 2 ? undefined : 'the edit was not seen',
    )
    await callFor(600, pod, 'probe')
    expect(await text()).toBe('fine')
    expect(await changed(pod, 'arm', TOKEN)).toBe(200)
    expect(await text()).toBe('two')
    await callFor(600, pod, 'plain')
    expect(await text()).toBe('two')
  })

  it('are never injected ones, nor calls that time out because of a delay', async () => {
    const rules = `rules:
  - name: fails
    match: { tool: probe }
    faults: [abort: { status: 500 }]
  - name: slow
    match: { tool: slow }
    faults: [delay: { fixed: 1h }]
`
    const pod = await start(REAL, rules)
    const { port, running: parts } = pod.squall
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 'late',
      method: 'tools/call',
      params: { name: 'slow', arguments: {} },
    })
    const end = performance.now() + 1200
    while (performance.now() < end) {
      expect(await pod.text()).toBe('500')
      const late = fetch(`http://127.0.0.1:${port}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        signal: AbortSignal.timeout(20),
      })
      await expect(late).rejects.toThrow('timeout')
    }
    expect(parts.rules!.arming.armed).toBe(true)
  })

  it('release the calls that a fault holds', async () => {
    const slow =
      'rules: [{ name: slow, match: { tool: probe }, faults: [{ delay: { fixed: 1h } }] }]'
    const pod = await start(REAL, slow, { upstream: app })
    const waiting = pod.text()
    await pod.squall.reaches('squall_active_faults', { rule: 'slow' }, 1)
    await untilDisarmed(pod, 'plain', BROKEN)
    expect(await waiting).toBe('fine')
  })
})

describe('the latency of the upstream', () => {
  it('disarms after its time', async () => {
    const pod = await start(SLOW, NEVER, { upstream: app })
    await callFor(300, pod, 'plain')
    expect(await untilDisarmed(pod, 'plain', { 'x-slow': '350' })).toBeGreaterThanOrEqual(1000)
    expect(pod.squall.running.rules!.arming.reasons[0]!.reason).toContain(
      'the upstream took longer than 300ms for',
    )
  })

  it('does not count the time of a fault', async () => {
    await isNotCounted('delay: { fixed: 400ms }')
  })
})

describe('a retry storm', () => {
  /** Calls now and then, and retries at once as long as a call fails. */
  async function traffic(pod: RuledSquall, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      while ((await pod.text()) === '500' && !isOver()) continue
      await sleep(50)
    }
  }

  it('disarms, and the storm is over', async () => {
    await againAfterStall(async () => {
      const pod = await start('calls>3x for 600ms', 'rules: []')
      const { arming } = pod.squall.running.rules!
      let isOver = false
      const client = traffic(pod, () => isOver)
      // Six windows of 300 ms show what is usual; a window is longer on a busy machine.
      await sleep(6_000)
      const begin = performance.now()
      await pod.mounted.swap(
        'rules: [{ name: fails, match: { tool: probe }, faults: [{ abort: { status: 500 } }] }]',
      )
      await eventually(() => (arming.armed ? 'still armed' : undefined))
      expect(performance.now() - begin).toBeGreaterThanOrEqual(600)
      expect(arming.reasons[0]!.reason).toMatch(
        /^calls>3x for 600ms: \d+ calls within 300ms, \d before/,
      )
      expect(await pod.text()).toBe('fine')
      isOver = true
      await client
    })
  })

  it('is not checked for rules that act from the beginning, which is logged', async () => {
    const pod = await start('calls>3x for 300ms', failing('one'))
    const line = await pod.squall.logged(
      'too few calls before the rules became active: this --rollback-on condition is not checked',
    )
    expect(line).toMatchObject({ level: 'warn', condition: 'calls>3x for 300ms' })
    await callFor(800, pod, 'probe')
    expect(pod.squall.running.rules!.arming.armed).toBe(true)
  })
})

describe('an upstream that is not ready', () => {
  it('disarms after its time', async () => {
    const pod = await start('not-ready for 300ms', NEVER)
    const { arming } = pod.squall.running.rules!
    await eventually(async () => ((await pod.squall.readiness()).ready ? undefined : 'not ready'))
    const begin = performance.now()
    await pod.app.close()
    await eventually(() => (arming.armed ? 'still armed' : undefined))
    expect(performance.now() - begin).toBeGreaterThanOrEqual(300)
    expect(arming.reasons[0]!.reason).toContain('does not accept connections')
  })
})

describe('nothing loosens a condition:', () => {
  it('neither a rules file that switches itself off and on, nor other rules', async () => {
    await againAfterStall(async () => {
      const pod = await start('real-errors>20% for 1s', failing('one'), { upstream: app })
      const { arming } = pod.squall.running.rules!
      let version = 0
      const switching = async (): Promise<void> => {
        while (arming.armed && version < 100) {
          await pod.mounted.swap(`enabled: ${++version % 2 === 0}\n${failing(`rule-${version}`)}`)
          await sleep(100)
        }
      }
      const [after] = await Promise.all([untilDisarmed(pod, 'plain', BROKEN), switching()])
      expect(after).toBeGreaterThanOrEqual(1000)
      expect(after).toBeLessThan(5000)
      // A busy machine switches fewer times in that second.
      expect(version).toBeGreaterThan(2)
    })
  })

  it('neither a header, nor a reader of the admin port', async () => {
    const pod = await start(REAL, failing('one'), { upstream: app, flags: ['--header-faults'] })
    await untilDisarmed(pod, 'plain', { ...BROKEN, 'x-squall-rollback-on': 'off' })
    expect(await changed(pod, 'arm')).toBe(401)
    expect(await pod.text('probe', { 'x-squall-abort': '503' })).toBe('fine')
    expect(pod.squall.running.rules!.arming.armed).toBe(false)
  })

  it('neither an operator who arms while it holds', async () => {
    await againAfterStall(async () => {
      const pod = await start('real-errors>20% for 2s', failing('one'), { upstream: app })
      await untilDisarmed(pod, 'plain', BROKEN)
      const calls = callFor(2500, pod, 'plain', BROKEN)
      expect(await changed(pod, 'arm', TOKEN)).toBe(200)
      expect(await untilDisarmed(pod, 'plain', BROKEN)).toBeLessThan(2000)
      await calls
    })
  })

  it('and faults by headers count as an active rule', async () => {
    const pod = await start(REAL, 'rules: []', { upstream: app, flags: ['--header-faults'] })
    await callFor(1000, pod, 'plain', BROKEN)
    expect(pod.squall.running.rules!.arming.armed).toBe(true)
    expect(await pod.text('probe', { 'x-squall-abort': '503' })).toBe('503')
    await untilDisarmed(pod, 'plain', BROKEN)
  })
})
