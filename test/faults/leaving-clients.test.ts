import { connect } from 'node:net'
import { expect, it } from 'vitest'
import * as Type from 'typebox'
import { defineFault, type FaultContext, type Output } from '../../src/filters/fault.ts'
import { closers } from '../support/closers.ts'
import { call, callMessage, metricOf, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { resultText } from './apps.ts'
import { ECHO, oneFault, REPLACED } from './one-fault.ts'
import { bodyApp, responseText } from './responding-app.ts'

const opened = closers()
const MIB = 2 ** 20

/** A fault on the bytes of a response. */
function output(change: (ctx: FaultContext, body: AsyncIterable<Uint8Array>) => Output['body']) {
  return defineFault({
    name: 'odd',
    title: 'change a result',
    summary: 'Sends a response in an odd way.',
    clientSees: 'An odd response.',
    otherTools: 'Other tools have nothing like it.',
    example: '- name: odd\n  faults:\n    - odd: {}',
    schema: Type.Object({}),
    create: () => ({ onOutput: (ctx, { head, body }) => ({ head, body: change(ctx, body) }) }),
  }).create({})
}

it.each([
  ['ok', { content: [{ type: 'text', text: 'fine' }] }],
  ['tool_error', { content: [{ type: 'text', text: 'no' }], isError: true }],
])(
  'a client that closes behind the last byte has the %s of the upstream',
  async (outcome, result) => {
    const endsLate = output(async function* (ctx, body) {
      ctx.injected()
      yield* body
      await ctx.sleep(3_600_000)
    })
    const upstream = bodyApp(JSON.stringify(result))
    const stage = opened(await startSidecar({ rules: [REPLACED], faults: [endsLate], upstream }))
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(1), 'POST')
    await client.sees(responseText(JSON.stringify(result)))
    client.close()
    await stage.settled()
    const labels = { tool: 'echo', outcome, origin: 'real' }
    expect(metricOf(await stage.metrics(), 'squall_calls_total', labels)).toBe(1)
  },
)

it('a client that leaves while a fault sends slowly leaves because of it', async () => {
  let sent = 0
  const inPieces = output(async function* (ctx, body) {
    ctx.injected()
    for await (const piece of body) {
      sent++
      yield piece
    }
  })
  const large = bodyApp(JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(32 * MIB) }] }))
  const stage = opened(
    await startSidecar({ rules: [REPLACED], faults: [inPieces], upstream: large }),
  )
  const socket = connect(stage.port, '127.0.0.1').pause()
  socket.write(toolCall(1))
  // The kernel takes less than the response: the fault waits for the client when nothing moves.
  let before = 0
  await stage.until(() => {
    const moved = sent - before
    before = sent
    return sent > 0 && moved === 0
  })
  socket.destroy()
  await stage.settled()
  const labels = { tool: 'echo', outcome: 'abandoned', origin: 'injected' }
  expect(metricOf(await stage.metrics(), 'squall_calls_total', labels)).toBe(1)
})

it('a byte order mark of an event stays in front of the marker', async () => {
  const event = `\ufeffdata: ${resultText(1)}\n\n`
  const stage = opened(
    await startSidecar({
      rules: [oneFault('delay: { fixed: 1ms, at: response }', ECHO, 'late')],
      upstream: (req, res) => {
        req.resume().on('end', () => {
          res.writeHead(200, { 'content-type': 'text/event-stream' }).end(event)
        })
      },
    }),
  )
  const { text, headers } = await call(stage, callMessage(1))
  expect(text.replace(/: x-squall-fault [^\n]*\n\n/, '')).toBe(event)
  expect(text.startsWith('\ufeff')).toBe(true)
  expect(headers['x-squall-fault'] ?? text).toContain('late/delay')
})
