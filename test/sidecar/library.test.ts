import type { RequestListener } from 'node:http'
import { expect, it, vi } from 'vitest'
import { createSquall, InvalidRulesError, type Squall } from '../../src/sidecar/create-squall.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { call, callMessage, metricOf, openClient, startUpstream } from '../support/wire.ts'

const opened = closers()
const FAIL = { name: 'fails', match: { tool: 'echo' }, faults: [{ abort: { status: 503 } }] }

async function modernServer(): Promise<string> {
  const server = await startUpstream('modern')
  opened({ close: () => server.close() })
  return `${server.origin}/mcp`
}

async function refused(setting: Promise<unknown>): Promise<InvalidRulesError> {
  const error = await setting.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(InvalidRulesError)
  return error as InvalidRulesError
}

async function statusOf({ url }: Squall): Promise<number> {
  const { hostname, port } = new URL(url)
  return (await call({ host: hostname, port: Number(port) }, callMessage(1))).status
}

it('a sidecar of a test injects faults into the calls of a real client, and reports them', async () => {
  const upstream = await modernServer()
  const squall = opened(await createSquall({ upstream }))
  expect(new URL(squall.url).pathname).toBe('/mcp')
  const client = opened(await openClient('v2 auto')(squall.url, 'streamableHttp'))
  await client.call('echo', { message: 'hi' })
  await squall.setRules({ rules: [FAIL] })
  await expect(client.call('echo', { message: 'hi' })).rejects.toThrow('503')
  const [fault, ...more] = squall.faults()
  expect(fault).toMatchObject({ rule: 'fails', fault: 'abort', tool: 'echo' })
  expect(Date.now() - fault!.at.getTime()).toBeLessThan(60_000)
  expect(more).toEqual([])
  expect(squall.rules()).toMatchObject([{ rule: 'fails', matched: 1, sampled: 1, injected: 1 }])
  await eventually(() => {
    const { calls } = squall.tools().find(({ tool }) => tool === 'echo') ?? {}
    return calls === 2 ? undefined : `${calls} calls`
  })
  expect(squall.tools()).toContainEqual({
    tool: 'echo',
    calls: 2,
    injectedErrors: 1,
    realErrors: 0,
  })
  const name = 'squall_faults_injected_total'
  expect(metricOf(await squall.metrics(), name, { rule: 'fails' })).toBe(1)
  await squall.setRules('rules: []')
  await client.call('echo', { message: 'hi' })
})

it('invalid rules are refused with their problems, and the previous ones stay', async () => {
  const squall = opened(
    await createSquall({ upstream: await modernServer(), rules: { rules: [FAIL] } }),
  )
  const error = await refused(squall.setRules('rules:\n  - name: a\n    fault: [delay]\n'))
  expect(error.problems[0]).toMatchObject({ line: expect.any(Number) as number })
  expect(error.message).toMatch(/^the rules are invalid\nrules:\d+:\d+: /)
  expect(await statusOf(squall)).toBe(503)
  await refused(createSquall({ upstream: 'http://127.0.0.1:1', rules: { rules: [{}] } }))
})

it('rules that are set at once become active in order', async () => {
  const squall = opened(await createSquall({ upstream: await modernServer() }))
  const many = Array.from({ length: 300 }, (_, index) => ({ ...FAIL, name: `rule-${index}` }))
  const setting = [squall.setRules({ rules: many }), squall.setRules({ rules: [FAIL] })]
  await Promise.all(setting)
  expect(squall.rules().map(({ rule }) => rule)).toEqual(['fails'])
})

it('real errors disarm the rules by a condition', async () => {
  const failing: RequestListener = (req, res) => {
    req.resume()
    res.writeHead(500).end()
  }
  const app = opened(await startUpstream(failing))
  const rollbackOn = ['real-errors>1% for 200ms']
  const squall = opened(await createSquall({ upstream: app.url, rules: [FAIL], rollbackOn }))
  expect(await statusOf(squall)).toBe(503)
  const isDisarmed = async () => metricOf(await squall.metrics(), 'squall_armed') === 0
  const { hostname: host, port } = new URL(squall.url)
  await eventually(async () => {
    await call({ host, port: Number(port) }, callMessage(1, 'plain'))
    return (await isDisarmed()) ? undefined : 'still armed'
  })
  await squall.setRules([FAIL])
  expect(await statusOf(squall)).toBe(500)
})

it('a closed sidecar takes no rules, and leaves its port', async () => {
  const squall = await createSquall({ upstream: await modernServer() })
  await squall.setRules({ rules: [FAIL] })
  await squall[Symbol.asyncDispose]()
  await expect(squall.setRules({ rules: [] })).rejects.toThrow('the sidecar is closed')
  await expect(statusOf(squall)).rejects.toThrow('ECONNREFUSED')
})

it('no sidecar starts in production', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  await expect(createSquall({ upstream: 'http://127.0.0.1:1' })).rejects.toThrow(
    /no fault is injected here: .*production.*; set ENVIRONMENT to a name such as test$/,
  )
  vi.unstubAllEnvs()
})

const RIGHT = "write createSquall({ upstream: 'http://127.0.0.1:3000/mcp' })"
const upstream = 'http://127.0.0.1:1'

it.each([
  [undefined, `createSquall requires options; ${RIGHT}`],
  [{}, `upstream, the URL of the MCP server, is missing; ${RIGHT}`],
  [
    { upstream: 'localhost:3000/mcp' },
    `upstream "localhost:3000/mcp" must be an http or https URL; ${RIGHT}`,
  ],
  [
    { upstream: '127.0.0.1:3000' },
    `upstream "127.0.0.1:3000" must be an http or https URL; ${RIGHT}`,
  ],
  [{ upstream, rule: [] }, 'unknown option "rule" of createSquall; did you mean rules?'],
  [
    { upstream, port: 1 },
    'unknown option "port" of createSquall; the options are upstream, rules, listen, rollbackOn',
  ],
  [
    { upstream, rules: './rules.yaml' },
    'rules must be the text of a rules file, not its path; write rules: await readFile("./rules.yaml", \'utf8\')',
  ],
  [{ upstream, listen: 3000 }, "listen must be host:port; write listen: '127.0.0.1:0'"],
  [
    { upstream, rollbackOn: 'not-ready for 10s' },
    "rollbackOn must be a list; write rollbackOn: ['real-errors>1% for 30s']",
  ],
  [
    { upstream, rollbackOn: ['real-errors>1%'] },
    'rollbackOn "real-errors>1%": write "real-errors>1% for 30s"',
  ],
  [{ upstream, listen: 'unix:/a' }, "listen must be host:port; write listen: '127.0.0.1:0'"],
])('createSquall(%j) is rejected with the right form', async (options, message) => {
  // JavaScript calls it without types.
  const untyped = createSquall as (options: unknown) => Promise<unknown>
  const error = await untyped(options).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(TypeError)
  expect((error as Error).message).toBe(message)
})

it('rules may be a list', async () => {
  const squall = opened(await createSquall({ upstream: await modernServer(), rules: [FAIL] }))
  expect(await statusOf(squall)).toBe(503)
})
