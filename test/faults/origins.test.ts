import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import type { FaultName } from '../../src/filters/index.ts'
import { closers } from '../support/closers.ts'
import { toolCall } from '../support/mcp-bytes.ts'
import { RawClient } from '../support/raw-client.ts'
import { familyIn } from '../telemetry/exposition.ts'
import { someOf } from '../support/rounds.ts'
import { startSidecar } from '../support/sidecar.ts'
import { whenAsked } from './apps.ts'
import { CALL_FAULTS, exampleOf, oneFault } from './one-fault.ts'

const opened = closers()

/** Responses above this are not read. */
const MAX_BODY = 32 * 1024

type Respond = (res: Parameters<RequestListener>[1], id: unknown) => void

const largeText = (id: unknown): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"${'x'.repeat(4 * MAX_BODY)}"}]}}`

function json(coding: string | undefined, encode: (text: string) => string, sized = true): Respond {
  return (res, id) => {
    const body = encode(largeText(id))
    res.setHeader('content-type', 'application/json')
    if (coding !== undefined) res.setHeader('content-encoding', coding)
    if (sized) res.setHeader('content-length', Buffer.byteLength(body))
    res.write(body)
    res.end()
  }
}

const stream: Respond = (res, id) => {
  res.setHeader('content-type', 'text/event-stream')
  res.end(`data: ${largeText(id)}\n\n`)
}

/** Responses that Squall passes on without reading them. */
const UNREAD: Readonly<Record<string, Respond>> = {
  'a large event': stream,
  'a large body': json(undefined, (text) => text),
  'a large body in chunks': json(undefined, (text) => text, false),
  'a body in an unknown coding': json('secret', (text) => text.toUpperCase()),
}

/**
 * The forms of a fault that act on a response, beside those that act before it; its example for
 * others.
 */
const FORMS: Partial<Readonly<Record<FaultName, readonly string[]>>> = {
  delay: ['fixed: 1ms', 'fixed: 1ms, at: response', 'fixed: 1ms, at: event'],
  abort: ['rpcError: {}', 'rpcError: {}, at: response', 'status: 503, at: response'],
  rateLimit: ['', 'limit: { calls: 1, per: 1m }'],
  hang: [
    'for: 1ms',
    'for: 1ms, at: headers',
    'for: 1ms, at: event',
    'for: 1ms, at: event, after: { bytes: 9B }',
  ],
  reset: ['at: response', 'at: stream', 'at: stream, after: { bytes: 9B }'],
  truncate: [
    '',
    'framing: clean',
    'after: { bytes: 9B }, framing: clean',
    'after: { events: 2 }',
    'content: { chars: 1 }',
  ],
  rewrite: [
    'set: { /content/0/text: no }',
    'text: { append: no }',
    'in: message, set: { /result/content/0/text: no }',
  ],
  corrupt: ['', 'mode: bitflip', 'mode: empty'],
  throttle: ['rate: 1GiB'],
  catalog: ['hide: "*"'],
  session: [''],
  unauthorized: [''],
  stream: [
    'drop: last',
    'duplicate: last',
    'wrongId: other',
    'close: last',
    'split: last, pause: 1ms',
  ],
  replay: [''],
  poison: ['', 'preset: hidden', 'preset: link, at: start', 'preset: fakeResult', 'text: x'],
  inflate: ['', 'with: x'],
  amplify: [''],
}

const CASES = CALL_FAULTS.flatMap((fault) => {
  const forms = FORMS[fault.name]?.map((form) => `${fault.name}: { ${form} }`)
  return (forms ?? [exampleOf(fault)]).flatMap((text) =>
    Object.keys(UNREAD).map((response) => [text, response] as const),
  )
})

/** Returns the outcome and origin of a call whose response the fault meets. */
async function counted(fault: string, response: string): Promise<object> {
  const upstream: RequestListener = (req, res) =>
    whenAsked(req, ([message]) => UNREAD[response]!(res, message!.id))
  const rules = [oneFault(fault)]
  const squall = opened(await startSidecar({ upstream, rules, maxBody: MAX_BODY }))
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(1), 'POST')
  await client.response()
  client.close()
  await squall.settled()
  const ended = familyIn(await squall.metrics(), 'squall_calls_total')!
  const [only] = ended.lines.filter(({ value }) => value > 0)
  const { outcome, origin } = only!.labels
  return { injected: squall.faults.counts().injected, outcome, origin }
}

it.each(someOf(CASES, 3))(
  '%s is reported as injected only where it took effect: %s',
  async (fault, response) => {
    const all = await counted(fault, response)
    // A response that nobody read and a fault changed does not count as ok.
    expect(all).not.toMatchObject({ outcome: 'ok', origin: 'injected' })
    expect(all).not.toMatchObject({ injected: 0, origin: 'injected' })
  },
)

it.each(['truncate: { framing: clean }', 'truncate: { after: { bytes: 9B }, framing: clean }'])(
  '%s leaves an unread response incomplete',
  async (fault) => {
    expect(await counted(fault, 'a large body')).toEqual({
      injected: 1,
      outcome: 'incomplete',
      origin: 'injected',
    })
  },
)
