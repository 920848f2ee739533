import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()

const MODES = ['garbage', 'bitflip', 'invalid-utf8', 'html', 'empty'] as const

function corrupt(mode: string, more: object = {}) {
  return oneFault(`corrupt: ${JSON.stringify({ mode, ...more })}`)
}

it.each(MODES)('by %s damages a JSON response, and the connection stays open', async (mode) => {
  const stage = opened(await startSidecar({ rules: [corrupt(mode)], upstream: jsonApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const response = await client.response()
  expect(response!.status).toBe(200)
  expect(response!.body.toString('latin1')).not.toBe(resultText(1))
  expect(client.text).toMatch(new RegExp(`content-length: ${response!.body.length}\r\n`, 'i'))
  expect(client.text).toMatch(
    mode === 'html' ? /content-type: text\/html/i : /content-type: application\/json/i,
  )
  expect(client.text).toContain('x-squall-fault: bad/corrupt')
  await client.send(toolCall(2, 'other'), 'POST')
  expect((await client.response(1))!.body.toString()).toBe(resultText(2))
  expect(stage.counts().injected).toBe(1)
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['injected'])
  client.close()
})

it.each(MODES)('by %s damages the event that answers, and nothing around it', async (mode) => {
  const stage = opened(await startSidecar({ rules: [corrupt(mode)], upstream: sseApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const text = (await client.response())!.body.toString('latin1')
  const [before] = streamText(1).split('id: 2')
  const start = `${before}: x-squall-fault bad/corrupt\n\nid: 2\nevent: message\ndata: `
  expect(text.slice(0, start.length)).toBe(start)
  const data = text.slice(start.length)
  expect(data).toMatch(/^[^\r\n]*\n\n$/)
  expect(data).not.toBe(`${resultText(1)}\n\n`)
  expect(await stage.origins()).toEqual(['injected'])
  client.close()
})

it('damages one event of a batch that is answered by a stream', async () => {
  const stage = opened(await startSidecar({ rules: [corrupt('garbage')], upstream: sseApp }))
  const got = await call(stage, [callMessage(1), callMessage(2, 'other')])
  expect(got.text).toContain(`data: ${resultText(2)}\n\n`)
  expect(got.text).not.toContain(resultText(1))
})

it('leaves a batch alone that is answered by one body', async () => {
  const stage = opened(await startSidecar({ rules: [corrupt('garbage')], upstream: jsonApp }))
  const got = await call(stage, [callMessage(1), callMessage(2, 'other')])
  expect(JSON.parse(got.text)).toHaveLength(2)
  expect(stage.notApplicable).toHaveLength(1)
  expect(stage.counts().not_applicable).toBe(1)
})

it('sends the replacement of a coded response without a coding', async () => {
  const stage = opened(
    await startSidecar({
      rules: [corrupt('html')],
      upstream: (req, res) => {
        req.resume()
        res.writeHead(502, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        res.end(gzipSync(resultText(1)))
      },
    }),
  )
  const got = await call(stage, callMessage(1))
  expect(got.status).toBe(502)
  expect(got.headers['content-encoding']).toBeUndefined()
  expect(got.text).toMatch(/^<!doctype html>.*<\/html>$/)
})

it('claims another type of a stream', async () => {
  const rule = corrupt('bitflip', { contentType: 'text/plain' })
  const stage = opened(await startSidecar({ rules: [rule], upstream: sseApp }))
  const got = await call(stage, callMessage(1))
  expect(got.headers['content-type']).toBe('text/plain')
  expect(got.headers['x-squall-fault']).toBe('bad/corrupt')
  expect(stage.counts().injected).toBe(1)
})

it('does the same damage to the same calls', async () => {
  const texts: string[] = []
  for (let run = 0; run < 2; run++) {
    const stage = opened(await startSidecar({ rules: [corrupt('garbage')], upstream: jsonApp }))
    for (const id of [1, 2]) texts.push((await call(stage, callMessage(id))).text)
  }
  expect(texts.slice(0, 2)).toEqual(texts.slice(2))
  expect(texts[0]).not.toBe(texts[1])
})
