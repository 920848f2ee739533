import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { resultText, whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const MODERN = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
}

/** An upstream whose n-th response says so, counted from 1. */
function counting(form: 'json' | 'sse'): RequestListener {
  let count = 0
  return (req, res) => {
    whenAsked(req, (messages) => {
      const texts = messages.map(({ id }) => resultText(id!, String(++count)))
      if (form === 'sse') {
        res.setHeader('content-type', 'text/event-stream')
        res.end(texts.map((text) => `id: 4\r\ndata: ${text}\r\n\r\n`).join(''))
      } else {
        res.setHeader('content-type', 'application/json')
        res.end(messages.length === 1 ? texts[0] : `[${texts.join(' , ')}]`)
      }
    })
  }
}

it.each([
  ['json', {}],
  ['json', MODERN],
  ['sse', {}],
  ['sse', MODERN],
] as const)('gives the response before in %s, with the id of this call', async (form, headers) => {
  const stage = opened(
    await startSidecar({ rules: [oneFault('replay')], session: 's', upstream: counting(form) }),
  )
  const place = { ...stage, headers: { ...stage.headers, ...headers } }
  const first = await call(place, callMessage('a'))
  const second = await call(place, callMessage(7))
  const third = await call(place, callMessage(0))
  const event = (text: string): string => (form === 'sse' ? `id: 4\r\ndata: ${text}\r\n\r\n` : text)
  const plain = (text: string): string => text.replace(': x-squall-fault bad/replay\n\n', '')
  expect(first.text).toBe(event(resultText('a', '1')))
  expect(plain(second.text)).toBe(event(resultText(7, '1')))
  expect(plain(third.text)).toBe(event(resultText(0, '2')))
  expect(second.text !== plain(second.text) || second.headers['x-squall-fault']).toBeTruthy()
  expect(first.headers['x-squall-fault']).toBeUndefined()
  expect(stage.counts()).toMatchObject({ injected: 2, within_limit: 1, not_applicable: 0 })
  expect(await stage.origins()).toEqual(['real'])
})

it('gives nobody what a caller with another token was answered', async () => {
  const stage = opened(
    await startSidecar({ rules: [oneFault('replay')], session: 's', upstream: counting('json') }),
  )
  const as = (token: string) => ({ ...stage, headers: { authorization: `Bearer ${token}` } })
  await call(as('a'), callMessage(1))
  expect((await call(as('b'), callMessage(1))).text).toBe(resultText(1, '2'))
  expect((await call(as('a'), callMessage(1))).text).toBe(resultText(1, '1'))
})

it('gives nothing that is not old enough', async () => {
  const stage = opened(
    await startSidecar({
      rules: [oneFault('replay: { age: 1h }')],
      session: 's',
      upstream: counting('json'),
    }),
  )
  await call(stage, callMessage(1))
  expect((await call(stage, callMessage(2))).text).toBe(resultText(2, '2'))
  expect(stage.counts()).toMatchObject({ injected: 0, within_limit: 2 })
})

it('gives one call of a batch its response before, and leaves the bytes of the others', async () => {
  const stage = opened(
    await startSidecar({ rules: [oneFault('replay')], session: 's', upstream: counting('json') }),
  )
  await call(stage, callMessage(1))
  const got = await call(stage, [callMessage(2, 'other'), callMessage(3)])
  expect(got.text).toBe(`[${resultText(2, '2')},${resultText(3, '1')}]`)
  expect(stage.counts()).toMatchObject({ sampled: 2, injected: 1, within_limit: 1 })
})

it('keeps nothing of a response whose client left before it was there', async () => {
  let appGone: Promise<unknown> | undefined
  const responses = counting('json')
  const stage = opened(
    await startSidecar({
      rules: [oneFault('replay')],
      session: 's',
      upstream: (req, res) => {
        if (appGone !== undefined) return responses(req, res)
        req.resume()
        appGone = once(res, 'close')
        return undefined
      },
    }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await expect.poll(() => appGone !== undefined).toBe(true)
  client.reset()
  await stage.settled()
  await appGone
  expect((await call(stage, callMessage(2))).text).toBe(resultText(2, '1'))
  expect(stage.counts()).toMatchObject({ injected: 0, within_limit: 1, not_reached: 1 })
})
