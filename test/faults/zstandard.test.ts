import type { RequestListener } from 'node:http'
import { expect, it, describe } from 'vitest'
import { codingOf } from '../../src/http/content-coding.ts'
import { closers } from '../support/closers.ts'
import { RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
/** Node reads Zstandard from 22.15 on; before, a response in it is as unknown as any other. */
const IS_READ = codingOf('zstd') === 'zstd'
/** A result with structured content, as Zstandard: a JSON body, and an event stream. */
const CODED = {
  'application/json':
    'KLUv/SBSTQIAogQQF6ClGgMVUEoSIdqxlH9qXGdGy1qf/28I770TkbTGyQ5gjrYtTZc9BAF882yqssM3NXb0QeAGPR6EYrwsTcUGuwEAq8SEAg==',
  'text/event-stream':
    'KLUv/SBp3QIAEoYUGYCpbVuQxBZmW9znbSQY1JyXArFQ8sah0gGEtNauCdXxO54NUO7qs7b5pkC4t2arcc7urRbn3gTuKN0cUAh+P8eqwYezctiISBqQORHlWjORAQEAkBIzCg==',
}

async function met(fault: string, type: keyof typeof CODED) {
  const bytes = Buffer.from(CODED[type], 'base64')
  const app: RequestListener = (req, res) => {
    whenAsked(req, () => {
      res.writeHead(200, { 'content-type': type, 'content-encoding': 'zstd' })
      res.write(bytes.subarray(0, 20))
      setImmediate(() => res.end(bytes.subarray(20)))
    })
  }
  const stage = opened(await startSidecar({ rules: [oneFault(fault)], upstream: app }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const { body, status } = (await client.response())!
  client.close()
  await stage.settled()
  return { stage, status, bytes, body, text: body.toString() }
}

describe.each(['application/json', 'text/event-stream'] as const)('%s in Zstandard', (type) => {
  it('is replaced by faults that need no content', async () => {
    const { stage, status } = await met('abort: { status: 503, at: response }', type)
    expect(status).toBe(503)
    expect(stage.counts()).toMatchObject({ injected: 1 })
  })

  it('is changed where Node can read it, and left as it is elsewhere, with the reason', async () => {
    const { stage, text, body, bytes } = await met('rewrite: { set: { /a: changed } }', type)
    if (IS_READ) {
      expect(text).toContain('"a":"changed"')
      expect(stage.counts()).toMatchObject({ injected: 1 })
    } else {
      expect(body.equals(bytes)).toBe(true)
      expect(stage.notApplicable).toMatchObject([{ reason: 'unreadable' }])
    }
  })
})
