import { expect, it } from 'vitest'
import { failing } from './rules-directory.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()

// A rule of 60 s began ten minutes late on a node whose clock was ten minutes slow.
it('rules that were applied up to an hour ahead of this clock act now, with a warning', async () => {
  const ahead = new Date(Date.now() + 3_500_000).toISOString()
  const pod = opened(await startSquall({ rules: `appliedAt: ${ahead}\n${failing('broken')}` }))
  expect(await pod.text()).toBe('broken')
  expect(pod.squall.logs).toContainEqual(
    expect.objectContaining({
      msg: 'appliedAt of rules is in the future: up to an hour ahead counts as now; check the clock of the node',
      rules: ['broken'],
    }),
  )
})
