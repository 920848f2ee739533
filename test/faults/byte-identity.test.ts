import { array, assert, asyncProperty, constantFrom, nat } from 'fast-check'
import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { ExchangeFaults } from '../../src/listener/faults/exchange-faults.ts'
import { faultedUpstream } from '../../src/listener/faults/source/faulted-upstream.ts'
import type { HeaderLines, RequestHead } from '../../src/http/headers.ts'
import type { ResponseSink } from '../../src/http/transfer.ts'
import { MatchedRule } from '../../src/rules/select/matched-rule.ts'
import { Bench, facts } from '../rules/facts.ts'
import { NO_CONTEXT } from './no-context.ts'

const LOOKING: Fault = {
  beforeResponse: () => ({ kind: 'continue' }),
  async *onResponse(_, frames) {
    for await (const frame of frames) yield frame
  },
}

const request: RequestHead = { method: 'POST', target: '/', version: '1.1', headers: [] }

/**
 * Returns the bytes that leave when the response arrives in these chunks and a fault changes
 * nothing.
 */
async function through(type: string, chunks: readonly Uint8Array[]): Promise<Buffer> {
  const bench = new Bench([{}])
  const planned = bench.plan(facts())!.matched[0]!
  const rule = {
    ...planned.rule,
    faults: [LOOKING, LOOKING],
    uses: [...planned.rule.uses, ...planned.rule.uses],
  }
  const hit = new MatchedRule(rule, planned.state, bench.states.active, planned.key, false)
  const run = new ExchangeFaults({
    ...NO_CONTEXT,
    request,
    calls: [{ call: facts().call, plan: { matched: [hit], dryRun: false } }],
    batch: false,
    session: '',
    maxBody: 200,
    holdTimeout: 120_000,
    listener: {
      injected: fail,
      notApplicable: () => undefined,
      canaryReturned: () => undefined,
      failed: fail,
    },
  })
  const out: Uint8Array[] = []
  await new Promise<void>((resolve, reject) => {
    const sink: ResponseSink = {
      info: () => undefined,
      head: () => undefined,
      data: (bytes) => out.push(bytes) > 0,
      end: () => resolve(),
      fail: reject,
    }
    const app = {
      send: (_head: RequestHead, _body: unknown, to: ResponseSink) => {
        const headers: HeaderLines = ['content-type', type]
        setImmediate(() => {
          to.head({ status: 200, reason: 'OK', headers })
          for (const chunk of chunks) to.data(chunk)
          to.end([])
        })
        return { resume: () => undefined, abort: () => undefined }
      },
    }
    faultedUpstream(app, run).send(request, null, sink)
  })
  return Buffer.concat(out)
}

function fail(): void {
  throw new Error('not expected')
}

const piece = constantFrom(
  'data: {"jsonrpc":"2.0","id":1,"result":{}}',
  'data: {"jsonrpc":"2.0","method":"notifications/x"}',
  'data: ü\u2028',
  ': comment',
  'id: 7',
  'retry: 10',
  `data: ${'long '.repeat(60)}`,
  '',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  '\r\r',
)

it.each(['text/event-stream', 'application/json'])(
  'a fault that only looks changes no byte of %s, whatever the chunks',
  async (type) => {
    await assert(
      asyncProperty(array(piece), array(nat(40)), async (pieces, cuts) => {
        const bytes = Buffer.from(pieces.join(''))
        const chunks: Buffer[] = []
        let at = 0
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut))
          at += cut
        }
        chunks.push(bytes.subarray(at))
        expect((await through(type, chunks)).equals(bytes)).toBe(true)
      }),
      { numRuns: 200 },
    )
  },
)
