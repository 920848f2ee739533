import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { toolCall } from '../support/mcp-bytes.ts'
import { RawClient } from '../support/raw-client.ts'
import { whenAsked, startStage } from './fault-stage-setup.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const BYTES = Buffer.from('nobody can read this')

/** Responses that cannot be read: in a coding that is not known, and damaged. */
const UNREAD: Readonly<Record<string, RequestListener>> = {
  'in an unknown coding': coded('secret'),
  damaged: coded('gzip'),
}

function coded(coding: string): RequestListener {
  return (req, res) => {
    whenAsked(req, () => {
      res.setHeader('content-type', 'application/json')
      res.setHeader('content-encoding', coding)
      res.end(coding === 'gzip' ? Buffer.concat([gzipSync('{}').subarray(0, 12), BYTES]) : BYTES)
    })
  }
}

async function met(fault: string, response: string) {
  const stage = opened(await startStage({ rules: [oneFault(fault)], app: UNREAD[response]! }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const answer = (await client.answer())!
  client.close()
  await stage.until(() => stage.finished() === 1)
  return { stage, answer }
}

it.each(Object.keys(UNREAD))(
  'faults that need no content act on a response %s',
  async (response) => {
    const aborted = await met('abort: { rpcError: { code: -32000 }, at: response }', response)
    expect(JSON.parse(aborted.answer.body.toString())).toMatchObject({ error: { code: -32000 } })
    expect(aborted.answer.headers.join('\n').toLowerCase()).not.toContain('content-encoding')
    expect(aborted.stage.counts()).toMatchObject({ applied: 1 })
    const status = await met('abort: { status: 503, at: response }', response)
    expect(status.answer.status).toBe(503)
    const late = await met('delay: { fixed: 1ms, at: response }', response)
    expect(late.answer.body.toString('latin1')).toContain(BYTES.toString())
    expect(late.stage.counts()).toMatchObject({ applied: 1 })
  },
)

it.each(Object.keys(UNREAD))('faults about the content leave a response %s', async (response) => {
  const { stage, answer } = await met('rewrite: { set: { /x: 1 } }', response)
  expect(answer.body.toString('latin1')).toContain(BYTES.toString())
  expect(stage.notApplicable).toMatchObject([{ reason: 'unreadable' }])
})
