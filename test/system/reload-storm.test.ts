// part: campaigns
import { it } from 'vitest'
import { reloadStorm } from '../live/reload-storm.ts'

/** Alone on two cores it takes half a minute. */
it(
  'a thousand versions under load fail no call, and the last good one is always active',
  () => reloadStorm(1_000),
  600_000,
)
