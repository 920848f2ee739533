import { afterEach, describe, expect, it } from 'vitest'
import { HeaderFaults } from '../../src/rules/select/header-faults.ts'
import { RESULTS } from '../../src/rules/select/rule-counts.ts'
import { type Api, type ApiSetup, AT, NOW, RULES, TOKEN } from './api-setup.ts'
import { startSquall } from '../support/commands.ts'

const open: Api[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((api) => api.close()))
})

async function start(setup: ApiSetup = {}): Promise<Api> {
  const api = await startSquall({ admin: setup })
  open.push(api)
  return api
}

it('dates responses by the clock of the rules, by which commands reckon when faults end', async () => {
  const { url } = await start()
  const { headers } = await fetch(`${url}/livez`)
  expect(headers.get('date')).toBe(new Date(NOW).toUTCString())
})

describe('the state', () => {
  it('is shown before there are any rules', async () => {
    const { get } = await start()
    expect(await get('/api/state')).toMatchObject({
      version: '1.2.3',
      environment: 'staging',
      uptimeSeconds: expect.any(Number),
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      readiness: { ready: true, reason: 'serving' },
      canChange: true,
      armed: true,
      reasons: [],
      dryRun: false,
      activeFaults: 0,
      maxActiveFaults: null,
      rules: { count: 0, generation: 0, digest: null, since: null },
      lastReload: null,
    })
  })

  it('shows the active version and the rejected one', async () => {
    const { get, take } = await start()
    take(RULES)
    expect(await get('/api/state')).toMatchObject({
      maxActiveFaults: 9,
      rules: { count: 2, generation: 1, digest: 'digest-0', since: AT },
      lastReload: { result: 'applied', digest: 'digest-0', at: AT },
    })
    take('rules:\n  - name: a\n    percnt: 1\n    faults: [{ dely: {} }]\n')
    expect(await get('/api/state')).toMatchObject({
      rules: { count: 2, digest: 'digest-0' },
      lastReload: {
        result: 'rejected',
        digest: 'digest-1',
        problemCount: 2,
        problems: [
          {
            file: 'rules.yaml',
            line: 3,
            column: 5,
            code: 'unknown_key',
            path: 'rules[0].percnt',
            message: expect.stringContaining('percent'),
          },
          { line: 4, code: 'unknown_fault' },
        ],
      },
    })
  })

  it('shows why rules are disarmed', async () => {
    const { get, take, arming } = await start()
    take(`enabled: false\n${RULES}`)
    arming.disarm('guard', 'too many errors')
    expect(await get('/api/state')).toMatchObject({
      armed: false,
      reasons: [
        { by: 'guard', reason: 'too many errors', at: AT },
        { by: 'file', reason: 'the file has enabled: false', at: AT },
      ],
    })
  })

  it('shows that nothing can be changed without a token', async () => {
    const { get } = await start({ token: undefined })
    expect(await get('/api/state')).toMatchObject({ canChange: false })
  })
})

describe('the rules', () => {
  it('are shown in the order of the file with all that became of their calls', async () => {
    const { get, take, call } = await start()
    take(RULES)
    call()
    call()
    const noResults = Object.fromEntries(RESULTS.map((result) => [result, 0]))
    const noCounts = { ...noResults, value_too_long: 0 }
    expect(await get('/api/rules')).toEqual({
      generation: 1,
      digest: 'digest-0',
      count: 2,
      rules: [
        {
          name: 'slow',
          faults: ['delay', 'abort'],
          about: 'calls',
          since: AT,
          appliedAt: null,
          from: AT,
          until: null,
          phase: 'on',
          percent: 100,
          sampled: 2,
          active: 0,
          counts: { ...noCounts, matched: 2, sampled: 2, injected: 2 },
        },
        {
          name: 'never',
          faults: ['abort'],
          about: 'calls',
          since: AT,
          appliedAt: null,
          from: AT,
          until: new Date(NOW + 3_600_000).toISOString(),
          phase: 'on',
          percent: 0.5,
          sampled: 0,
          active: 0,
          counts: { ...noCounts, matched: 0, sampled: 0 },
        },
      ],
    })
  })
})

describe('a rule that stands in no file', () => {
  it('is shown before those that do', async () => {
    const { get, take, rules } = await start()
    const limits = {}
    const faults = new HeaderFaults({ maxPercent: 10 }, limits, rules.states, NOW)
    take(RULES)
    const { count, rules: shown } = (await get('/api/rules')) as { count: number; rules: object[] }
    expect(count).toBe(2)
    expect(shown).toMatchObject([
      { name: faults.rule.name, builtIn: true, percent: null, sampled: 0 },
      { name: 'slow' },
      { name: 'never' },
    ])
  })
})

describe('the last faults', () => {
  it('are shown newest first, and no more than 200', async () => {
    const { get, recent } = await start()
    expect(await get('/api/injections')).toEqual({ total: 0, faults: [] })
    for (let id = 0; id < 250; id++) {
      const entry = {
        rule: 'slow',
        fault: 'delay',
        tool: 'search',
        method: undefined,
        id,
        session: 'cafe0123',
        effect: undefined,
        delayMs: 12,
      }
      recent.add({ at: NOW, entry })
    }
    const shown = (await get('/api/injections')) as { total: number; faults: object[] }
    expect(shown.total).toBe(250)
    expect(shown.faults).toHaveLength(200)
    expect(shown.faults[0]).toEqual({
      at: AT,
      rule: 'slow',
      fault: 'delay',
      tool: 'search',
      id: 249,
      session: 'cafe0123',
      delayMs: 12,
    })
  })
})

describe('methods', () => {
  it.each([
    ['/api/state', 'GET, HEAD, OPTIONS', ['POST', 'PUT', 'DELETE']],
    ['/api/rules', 'GET, HEAD, OPTIONS', ['POST', 'PATCH']],
    ['/api/injections', 'GET, HEAD, OPTIONS', ['POST', 'DELETE']],
    ['/api/disarm', 'POST, OPTIONS', ['GET', 'HEAD', 'PUT']],
    ['/api/arm', 'POST, OPTIONS', ['GET', 'HEAD', 'DELETE']],
  ])('of %s are listed', async (path, allow, others) => {
    const { url, arming } = await start()
    const headers = { authorization: `Bearer ${TOKEN}` }
    for (const method of others) {
      const response = await fetch(url + path, { method, headers })
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    }
    const preflight = await fetch(url + path, { method: 'OPTIONS', headers })
    expect([preflight.status, preflight.headers.get('allow')]).toEqual([200, allow])
    expect([...preflight.headers.keys()].some((name) => name.startsWith('access-control'))).toBe(
      false,
    )
    expect(arming.reasons).toEqual([])
  })

  it('and paths are listed at the root', async () => {
    const { url } = await start()
    const index = await (await fetch(url)).text()
    for (const path of ['state', 'rules', 'faults', 'disarm', 'arm']) {
      expect(index).toMatch(new RegExp(`^/api/${path} `, 'm'))
    }
  })
})
