import { expect, test } from 'vitest'
import { AdminError } from '../../../../src/admin/contract/api-client.ts'
import { sidecarPoll } from '../../src/experiment/sidecar-admin.ts'
import type { Sidecars } from '../../src/experiment/sidecars.ts'

test('a single request without a response does not lose the sidecars, however long it took', async () => {
  let responds = true
  const states: Sidecars['states'] = () =>
    responds ? Promise.resolve([]) : Promise.reject(new AdminError('no response'))
  // All that the poll reads of them.
  const sidecars = { paces: { lostMs: 0 }, states } as unknown as Sidecars
  const poll = sidecarPoll(sidecars, () => undefined)
  const ask = async (): Promise<string | undefined> =>
    (await poll(new AbortController().signal))?.code

  expect(await ask()).toBeUndefined()
  responds = false
  expect(await ask()).toBeUndefined()
  responds = true
  expect(await ask()).toBeUndefined()
  responds = false
  expect(await ask()).toBeUndefined()
  expect(await ask()).toBe('SIDECAR_LOST')
})
