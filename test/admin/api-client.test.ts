import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { askAdmin } from '../../src/admin/contract/api-client.ts'
import { API } from '../../src/admin/contract/api.ts'
import { closers } from '../support/closers.ts'
import { startUpstream } from '../support/wire.ts'

const opened = closers()

// On Node 20 and 22 a fetch whose controller was collected ignored its time limit after the headers
// of the response: `squall status`, `apply` and `experiment` could wait for a sidecar forever.
it('gives up a body that never ends, also when garbage was collected meanwhile', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const server = opened(await startUpstream((_, res) => void res.write('{')))
  const url = new URL(server.url)
  const often = setInterval(collect, 60)
  const asked = askAdmin({ url }, API.rules, { client: 'test', timeoutMs: 200 })
  await expect(asked).rejects.toThrow('no response within 0.2 s')
  clearInterval(often)
})

it('waits for a busy sidecar for more than two seconds', async () => {
  const server = opened(
    await startUpstream((_, res) => void setTimeout(() => res.end('{"changed":true}'), 2_300)),
  )
  const asked = askAdmin({ url: new URL(server.url) }, API.arm, { client: 'test', token: 't' })
  // The response came: it does not match the schema.
  await expect(asked).rejects.toThrow('cannot be read')
})

it.each([
  ['sends what changes nothing again', API.rules, 2],
  ['sends a change once', API.arm, 1],
] as const)('%s when there is no response', async (_, endpoint, expected) => {
  let requests = 0
  const server = opened(await startUpstream(() => void requests++))
  const asked = askAdmin({ url: new URL(server.url) }, endpoint, { client: 'test', timeoutMs: 300 })
  await expect(asked).rejects.toThrow('no response within 0.3 s')
  expect(requests).toBe(expected)
})

it('takes the response to the second request', async () => {
  let requests = 0
  const server = opened(
    await startUpstream((_, res) => {
      if (++requests === 1) res.destroy()
      else res.writeHead(503).end()
    }),
  )
  const asked = askAdmin({ url: new URL(server.url) }, API.rules, { client: 'test' })
  await expect(asked).rejects.toThrow('responded with status 503')
  expect(requests).toBe(2)
})
