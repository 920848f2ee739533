// part: api-server
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../support/cluster.ts'
import { apiServerMissing } from './api-server-process.ts'
import { type Fleet, type FleetRun, figuresOf, requestsTo } from './fleet.ts'

// The numbers of requests and lines are asserted, and no times: those are in fleet-figures.test.ts.
const missing = apiServerMissing()
if (missing !== undefined) {
  process.stderr.write(`tests with an API server are left out: ${missing}\n`)
}

const PODS = 150
/** The pods that respond; the others are dead. */
const ALIVE = PODS - 2
const RULES = 'rules: [{ name: slow, match: { tool: search }, faults: [delay: { fixed: 1s }] }]\n'
const WAITING = ['-n', 'shop', '--min', '95%', '--timeout', '100s']

describe.skipIf(missing !== undefined)(`a real API server with ${PODS} pods`, () => {
  let fleet: Fleet
  let file: string

  beforeAll(async () => {
    fleet = await startCluster('fleet', PODS)
    file = join(fleet.directory, 'rules.yaml')
    await writeFile(file, RULES)
  })
  afterAll(() => fleet?.close())

  async function run(...args: readonly string[]): Promise<FleetRun> {
    const done = await fleet.run(...args)
    process.stderr.write(`${figuresOf(done, PODS)}\n`)
    return done
  }

  /** Expects one PATCH for each pod that runs, and few questions. */
  function expectFewRequests(done: FleetRun): void {
    expect(requestsTo(done, 'PATCH pods')).toBe(PODS)
    expect(requestsTo(done, 'CONNECT pods/proxy')).toBeLessThan(3 * PODS)
    expect(requestsTo(done, 'LIST pods')).toBeLessThanOrEqual(2)
    // By forwarded ports, if the machine is busy, and of nodes, a few in all.
    const others = requestsTo(done, '') - requestsTo(done, 'PATCH pods')
    expect(others - requestsTo(done, 'CONNECT pods/proxy')).toBeLessThan(PODS)
  }

  it('takes one PATCH and fewer than three questions of each pod for squall apply', async () => {
    const done = await run('apply', '-f', file, ...WAITING)
    expect(done.out).toContain(`rules loaded in ${ALIVE} of ${PODS} pods`)
    expect(done.code).toBe(0)
    expectFewRequests(done)
  })

  it('is shown by squall status in 40 lines, with the pods that do not respond', async () => {
    const done = await run('status', '-n', 'shop')
    expect(done.out.trimEnd().split('\n').length).toBeLessThanOrEqual(40)
    expect(done.out).toMatch(new RegExp(`^shop +${ALIVE} pods +redirect +armed +1 `, 'm'))
    expect(done.out).toMatch(/^shop\/shop-00000, shop\/shop-00100: cannot query/m)
    expect(done.code).toBe(1)
  })

  it('has the stop in the ConfigMap before a sidecar is asked, and confirms as cheaply', async () => {
    const done = await run('stop', ...WAITING)
    expect(done.askedMs).toBeGreaterThan(0)
    expect(done.out).toContain(`stopped: confirmed by ${ALIVE} of `)
    expect(done.code).toBe(0)
    expectFewRequests(done)
  })
})
