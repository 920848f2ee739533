import { describe, expect, it } from 'vitest'
import { pythonRandom } from '../../../src/lab/demo/mcp-chaos/python-random.ts'
import { AGENTS, simulate } from '../../../src/lab/demo/mcp-chaos/simulation.ts'

describe('the simulation of mcp-chaos', () => {
  // Printed by Python 3.11: random.Random(seed).random(), the first two and the 2003rd.
  it.each([
    [0, [0.8444218515250481, 0.7579544029403025, 0.19680804997137435]],
    [42, [0.6394267984578837, 0.025010755222666936, 0.22104274044603256]],
    [4294967295, [0.6353574441341173, 0.20319993954407756, 0.1567435683561088]],
  ])('takes the random numbers of Python for seed %i', (seed, expected) => {
    const random = pythonRandom(seed)
    const all = Array.from({ length: 2003 }, random)
    expect([all[0], all[1], all[2002]]).toEqual(expected)
  })

  it('gives the figures that mcp-chaos prints with seed 42', () => {
    const counts = AGENTS.map((agent) => simulate(42, 200, agent))
    expect(counts).toMatchObject([
      { calls: 1600, failedCalls: 26, tasks: 200, failedTasks: 24, retries: 0 },
      { calls: 1600, failedCalls: 0, tasks: 200, failedTasks: 0, retries: 26 },
    ])
  })
})
