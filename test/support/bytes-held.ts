import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Returns the memory that this process holds, without what only waits to be collected. */
export function bytesHeld(): NodeJS.MemoryUsage {
  collect()
  // The first collection finds the buffers that nobody refers to; they count as held until the
  // second.
  collect()
  return process.memoryUsage()
}
