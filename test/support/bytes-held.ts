import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (how?: { readonly type: 'minor' }) => void

/** Returns the memory that this process holds, without what only waits to be collected. */
export function bytesHeld(): NodeJS.MemoryUsage {
  collect()
  // The first collection finds the buffers that nobody refers to; they count as held until the
  // next one, of whatever kind.
  collect({ type: 'minor' })
  return process.memoryUsage()
}
