import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { ExchangeFaults } from '../../src/listener/faults/exchange-faults.ts'
import { faultedUpstream } from '../../src/listener/faults/source/faulted-upstream.ts'
import type { RequestHead } from '../../src/http/headers.ts'
import type { ResponseSink } from '../../src/http/transfer.ts'
import { MatchedRule } from '../../src/rules/select/matched-rule.ts'
import { Bench, facts } from '../rules/facts.ts'
import { NO_CONTEXT } from './no-context.ts'

const request: RequestHead = { method: 'POST', target: '/', version: '1.1', headers: [] }

it('closes the generators of a client that has stopped reading and leaves', async () => {
  const closed: string[] = []
  const passing = (name: string): Fault => ({
    async *onResponse(_, frames) {
      try {
        yield* frames
      } finally {
        closed.push(name)
      }
    },
  })
  const faults = [passing('a'), passing('b')]
  const bench = new Bench([{}])
  const { rule, state, key } = bench.plan()!.matched[0]!
  const own = { ...rule, faults, uses: [rule.uses[0]!, rule.uses[0]!] }
  const hit = new MatchedRule(own, state, bench.states.active, key, false)
  const run = new ExchangeFaults({
    ...NO_CONTEXT,
    request,
    calls: [{ call: facts().call, plan: { matched: [hit], dryRun: false } }],
    batch: false,
    session: '',
    maxBody: 1000,
    holdTimeout: 120_000,
    listener: {
      injected: () => undefined,
      notApplicable: () => undefined,
      canaryReturned: () => undefined,
      failed: () => undefined,
    },
  })
  let aborted = 0
  let told: () => void = () => undefined
  const sent = new Promise<void>((resolve) => (told = resolve))
  const sink: ResponseSink = {
    info: () => undefined,
    head: () => undefined,
    data: () => {
      told()
      return false
    },
    end: () => undefined,
    fail: () => undefined,
  }
  const app = {
    send: (_head: RequestHead, _body: unknown, to: ResponseSink) => {
      setImmediate(() => {
        to.head({ status: 200, reason: 'OK', headers: ['content-type', 'text/event-stream'] })
        to.data(Buffer.from('data: 1\n\ndata: 2\n\ndata: 3\n\n'))
      })
      return { resume: () => undefined, abort: () => void aborted++ }
    },
  }
  const transfer = faultedUpstream(app, run).send(request, null, sink)
  await sent
  transfer.abort()
  transfer.abort()
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(closed.toSorted()).toEqual(['a', 'b'])
  expect(aborted).toBe(1)
  expect(bench.counts().not_reached).toBe(1)
})
