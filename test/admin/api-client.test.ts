import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { askAdmin } from '../../src/admin/api-client.ts'
import { API } from '../../src/admin/api.ts'
import { closers } from '../support/closers.ts'
import { startUpstream } from '../support/upstream.ts'

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
