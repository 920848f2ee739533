import { expect, test } from 'vitest'
import { documentedDraw } from './documented-sampling.ts'
import { tellsTheTruth } from './truth.ts'

test('the draw read from the documentation gives its vectors', () => {
  expect(documentedDraw('42', 'slow-search', '1')).toBe(0.5182975324749447)
  expect(documentedDraw('7', 'wetter-überall', '{"city":"Köln 🌧"}')).toBe(0.9349625729998148)
})

// The system tests make a hundred thousand calls.
test('metrics, the log, the wire, the clients and the upstream agree on every call', async () => {
  await tellsTheTruth(500, 7)
}, 120_000)
