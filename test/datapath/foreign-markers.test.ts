/**
 * An upstream could say of its own errors that Squall had injected them: a header `x-squall-fault`
 * or `x-squall-error`, or a comment in a stream, passed as it stood, and load tests, experiments
 * and people took real errors for injected ones. What says so in the upstream's response is
 * renamed.
 */
import { gzipSync } from 'node:zlib'
import { afterEach, expect, it } from 'vitest'
import { SseFramer } from '../../src/mcp/sse-framer.ts'
import { markerIn } from '../../packages/experiments/src/load/clients/markers.ts'
import { json, LAST_CHUNK, post, request, result, Stage, streamHead } from '../accounting/stage.ts'
import { chunk } from '../support/wire.ts'

let stage: Stage
afterEach(() => stage.close())

const MARK = ': x-squall-fault bad/abort\n\n'
const EVENTS = [
  `: quiet\n\ndata: {"note": ": x-squall-fault a/b"}\n\n`,
  MARK,
  `event: message\r\n: x-squall-fault c/d\r\ndata: ${JSON.stringify(result(7))}\r\n\r\n`,
  `:x-squall-fault is none\n\n: x-squall\n\n`,
].join('')
/** The same but for one byte of each mark. */
const SENT = EVENTS.replace(MARK, ': x-squall_fault bad/abort\n\n').replace(
  '\r\n: x-squall-fault c/d',
  '\r\n: x-squall_fault c/d',
)

/** The names of headers, as they came. */
function names(headers: readonly string[]): string[] {
  return headers.filter((_, i) => i % 2 === 0)
}

it.each(['x-squall-fault', 'X-Squall-Error', 'x-squall-whatever'])(
  'a header %s of the upstream is not passed as one of Squall',
  async (name) => {
    const bytes = json(result(7), '200 OK', [name, 'bad/abort'])
    stage = await Stage.open((exchange) => void exchange.send([bytes]))
    const { responses } = await stage.exchange(post(request(7)))
    const renamed = `x-upstream-squall-${name.slice('x-squall-'.length)}`
    expect(names(responses[0]!.headers)).toContain(renamed)
    expect(names(responses[0]!.headers).filter((each) => /^x-squall/i.test(each))).toEqual([])
    await stage.ends({ 'tools/call echo: ok': 1 })
  },
)

it('nor is one in a trailer, or in a 1xx response', async () => {
  const early = 'HTTP/1.1 103 Early Hints\r\nx-squall-error: overload\r\n\r\n'
  const head = streamHead()
  const last = '0\r\nX-Squall-Fault: bad/abort\r\n\r\n'
  stage = await Stage.open(
    (exchange) =>
      void exchange.send([early, head, chunk(`data: ${JSON.stringify(result(7))}\n\n`), last]),
  )
  const { responses } = await stage.exchange(post(request(7)))
  const [{ infos, trailers }] = responses as [(typeof responses)[0]]
  expect(infos.flatMap(({ headers }) => names(headers))).toEqual(['x-upstream-squall-error'])
  expect(names(trailers)).toEqual(['x-upstream-squall-Fault'])
  await stage.ends({ 'tools/call echo: ok': 1 })
})

it.each([
  ['whole', [EVENTS]],
  ['byte by byte', Array.from(EVENTS)],
  ['in pieces of three', EVENTS.match(/[^]{1,3}/g)!],
  ['by lines', EVENTS.split(/(?<=\n)/)],
])('a comment in a stream is none of Squall: %s', async (_, pieces) => {
  stage = await Stage.open(
    (exchange) =>
      void exchange.send([streamHead(), ...pieces.map((piece) => chunk(piece)), LAST_CHUNK]),
  )
  const { responses } = await stage.exchange(post(request(7)))
  const body = Buffer.from(responses[0]!.body)
  expect(body.toString()).toBe(SENT)
  const markers: string[] = []
  new SseFramer(1e6).push(body, ({ raw }) => {
    const marker = markerIn(raw)
    if (marker !== undefined) markers.push(marker)
  })
  expect(markers).toEqual([])
  await stage.ends({ 'tools/call echo: ok': 1 })
})

// An upstream could keep its markers by declaring a coding that changes nothing.
it('nor is a comment in a stream with the coding identity', async () => {
  const head = streamHead('Content-Encoding: identity\r\n')
  stage = await Stage.open((exchange) => void exchange.send([head, chunk(EVENTS), LAST_CHUNK]))
  const { responses } = await stage.exchange(post(request(7)))
  expect(Buffer.from(responses[0]!.body).toString()).toBe(SENT)
  await stage.ends({ 'tools/call echo: ok': 1 })
})

it('what is compressed, and what is no stream, passes as it is', async () => {
  const body = gzipSync(EVENTS)
  let count = 0
  stage = await Stage.open((exchange) => {
    const isFirst = count++ === 0
    void exchange.send(
      isFirst
        ? [streamHead('Content-Encoding: gzip\r\n'), chunk(body), LAST_CHUNK]
        : [json(result(7, { content: [{ type: 'text', text: MARK }] }))],
    )
  })
  const first = await stage.exchange(post(request(7)))
  expect(Buffer.from(first.responses[0]!.body).equals(body)).toBe(true)
  const second = await stage.exchange(post(request(7)))
  expect(Buffer.from(second.responses[0]!.body).toString()).toContain('x-squall-fault')
  await stage.ends({ 'tools/call echo: ok': 2 })
})
