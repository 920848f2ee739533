// part: slow-nightly
import { it } from 'vitest'
import { reloadStorm } from './reload-storm.ts'

// The system tests swap in a thousand.
it('versions that are swapped in under load fail no call, and the last good one is always active', async () => {
  await reloadStorm(32)
}, 60_000)
