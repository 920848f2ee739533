import { expect, it } from 'vitest'
import { callStates, met } from './agent.ts'
import { examples } from './example.ts'

const startExample = examples()

it('flaky-auth: 401 now and then, 403 for writing, and nothing without a token', async () => {
  const { v1, server, injected, errors } = await startExample('flaky-auth')
  const agent = await v1('good')
  const [gone, ok] = ['StreamableHTTPError 401', 'ok']
  expect(await callStates(agent, 'search_docs', 4)).toEqual([ok, gone, ok, ok])
  expect(await callStates(agent, 'create_ticket', 4)).toEqual([
    ok,
    ok,
    ok,
    'StreamableHTTPError 403',
  ])
  expect(await callStates(await v1(), 'create_ticket', 8)).toEqual(
    Array.from({ length: 8 }, () => ok),
  )
  expect(await server.executed('search_docs')).toBe(3)
  expect(await server.executed('create_ticket')).toBe(11)
  await injected('expired-token', 1)
  await injected('missing-scope', 1)
  await errors(2, { kind: 'http_error' })
  await errors(2)
})

it('flaky-auth: a client that can get a new token continues', async () => {
  const { v2, server, errors } = await startExample('flaky-auth')
  const asked: string[] = []
  let token = 'first'
  const agent = await v2({
    token: async () => token,
    onUnauthorized: async ({ response }) => {
      asked.push(response.headers.get('www-authenticate') ?? '')
      token = 'second'
    },
  })
  expect(await callStates(agent, 'search_docs', 3)).toEqual(['ok', 'ok', 'ok'])
  expect(asked).toEqual([expect.stringContaining('error="invalid_token"')])
  expect(await server.executed('search_docs')).toBe(3)
  await errors(1, { tool: 'search_docs' })
})

it('lost-session: dead for everything once it is lost, and a new one works', async () => {
  const { v1, server, errors, squall } = await startExample('lost-session')
  const agent = await v1()
  const [ok, lost] = ['ok', 'StreamableHTTPError 404']
  expect(await callStates(agent, 'get_weather', 7)).toEqual([ok, ok, ok, ok, lost, lost, lost])
  await expect(agent.tools()).rejects.toMatchObject({ code: 404 })
  expect(await met((await v1()).call('get_weather'))).toBe('ok')
  expect(await server.executed('get_weather')).toBe(5)
  const applied = { rule: 'lost-session', result: 'injected' }
  await squall.reaches('squall_rule_evaluations_total', applied, 1)
  await errors(4, { kind: 'http_error' })
  await errors(4)
  expect(await squall.metric('squall_calls_total', { method: 'initialize', outcome: 'ok' })).toBe(2)
})

it('lost-session: the server is not back for the fifth one that comes', async () => {
  const { v1, injected, errors } = await startExample('lost-session')
  for (let n = 0; n < 4; n++) await v1()
  await expect(v1()).rejects.toMatchObject({ code: 503 })
  expect(await met((await v1()).call('get_weather'))).toBe('ok')
  await injected('still-starting', 1)
  await errors(1, { kind: 'http_error' })
})
