import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { endingAfter } from '../../src/base/deadline.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

// On Node 20 `squall stop` went on for ever after a collection of garbage.
test('a time that ends aborts the signal after a collection of garbage, too', async () => {
  const signal = endingAfter(50, new AbortController().signal)
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  if (!signal.aborted) await once(signal, 'abort')
  expect((signal.reason as Error).name).toBe('TimeoutError')
}, 5_000)

test('the other signal aborts at once, with its reason', () => {
  const other = new AbortController()
  const signal = endingAfter(60_000, other.signal)
  expect(signal.aborted).toBe(false)
  other.abort(new Error('interrupted'))
  expect(signal.reason).toEqual(new Error('interrupted'))
})
