// part: slow-nightly
import { expect, it } from 'vitest'
import { closers } from '../../support/closers.ts'
import { startSquall } from '../../support/commands.ts'

const opened = closers()

it('at most 1,000 temporary faults are added, until one is removed', async () => {
  const { squall, text } = opened(await startSquall({ rules: undefined }))
  const faults = squall.running.temporary!
  const match = { http: { path: '/none' } }
  for (let n = 1; n <= 1_000; n++) faults.add({ match, for: '1h', faults: ['hang'] })
  const added = { for: '1h', faults: [{ abort: { toolError: 'added' } }] }
  expect(faults.add(added)).toMatchObject({
    rejected: 'conflict',
    message: expect.stringContaining('1000 temporary faults') as unknown,
  })
  expect(faults.remove('added-7')).toBe(true)
  expect(faults.add(added)).toMatchObject({ rule: { name: 'added-7' } })
  expect(await text()).toBe('added')
  expect(faults.clear()).toBe(1_000)
})
