import { expect, test } from 'vitest'
import { connectionLimits, descriptorLimit } from '../../../src/listener/front/descriptor-limit.ts'

const DEFAULTS = { maxConnections: 10_000, maxUpstreamConnections: 10_000, listeners: 1 }

test('the limit of this process is known', () => {
  expect(descriptorLimit()).toBeGreaterThan(16)
})

test.each([Infinity, 1_048_576, 65_536])('a limit of %d leaves the bounds as they are', (limit) => {
  expect(connectionLimits(limit, DEFAULTS)).toEqual({
    maxConnections: 10_000,
    maxUpstreamConnections: 10_000,
    overloadReserve: 256,
    adminConnections: 256,
    openFiles: limit,
    reduced: false,
  })
})

test.each([128, 256, 1024, 4096, 20_000])('a limit of %d is never exceeded', (limit) => {
  for (const listeners of [1, 3, 10]) {
    const room = connectionLimits(limit, { ...DEFAULTS, listeners })
    const { maxConnections, maxUpstreamConnections, overloadReserve, adminConnections } = room
    const each = maxConnections + maxUpstreamConnections + overloadReserve
    // The least that a listener needs to serve at all does not always fit.
    if (maxConnections > 1) expect(each * listeners + adminConnections).toBeLessThan(limit - 50)
    expect(Math.min(maxConnections, maxUpstreamConnections, overloadReserve)).toBeGreaterThan(0)
    expect(room.reduced).toBe(true)
    // Each client may need a connection to the upstream.
    expect(maxUpstreamConnections).toBeGreaterThanOrEqual(maxConnections)
  }
})

test('what a lower bound on clients leaves is for connections to the upstream', () => {
  const room = connectionLimits(256, { ...DEFAULTS, maxConnections: 10 })
  expect(room).toMatchObject({ maxConnections: 10, maxUpstreamConnections: 144 })
})
