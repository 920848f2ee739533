// Fails a test file in whose time an emitter got so many listeners that Node warns of a leak.
import { afterAll, expect } from 'vitest'

const leaks: Error[] = []
const note = (warning: Error): void => {
  if (warning.name === 'MaxListenersExceededWarning') leaks.push(warning)
}

process.on('warning', note)
afterAll(() => {
  process.off('warning', note)
  expect(leaks).toEqual([])
})
