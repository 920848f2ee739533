import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { AdminError } from '../../../../src/admin/contract/api-client.ts'
import { sidecarPoll } from '../../src/experiment/sidecar-admin.ts'
import type { Sidecars } from '../../src/experiment/sidecars.ts'

const open = closers()

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

test('a limit that fails because the sidecar has ended gives no verdict about the target', async () => {
  const stage = open(await startSquall({ experiment: {} }))
  let closing: Promise<void> | undefined
  const changes = { abortOn: { errors: '50%' }, hold: '1m', steadyState: { within: '300ms' } }
  const result = await stage.run(changes, {
    onEvent: (event) => {
      if (event.kind === 'moment' && (event.applied ?? 0) > 0) closing ??= stage.squall.close()
    },
  })
  await closing
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'SIDECAR_LOST' })
  expect(result.why).toMatch(/^the sidecar did not respond; errors >50%: it is /)
})
