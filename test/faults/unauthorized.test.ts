import { expect, it } from 'vitest'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const MODERN = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
}
const METADATA = 'https://mcp.example/.well-known/oauth-protected-resource'

it.each([
  ['legacy', {}],
  ['modern', MODERN],
])('says to a %s client with a token that it expired', async (_, more) => {
  let calls = 0
  const stage = opened(
    await startSidecar({
      rules: [oneFault(`unauthorized: { resourceMetadata: "${METADATA}" }`)],
      upstream: (req, res) => (calls++, sseApp(req, res)),
    }),
  )
  const headers = { authorization: 'Bearer x', origin: 'https://a.example', ...more }
  const got = await call({ ...stage, headers }, callMessage(1))
  expect(got.status).toBe(401)
  expect(got.headers['www-authenticate']).toBe(
    `Bearer realm="mcp", error="invalid_token", error_description="The access token expired", resource_metadata="${METADATA}"`,
  )
  expect(got.headers['access-control-expose-headers']).toContain('www-authenticate')
  expect(got.headers['x-squall-fault']).toBe('bad/unauthorized')
  expect(JSON.parse(got.text)).toMatchObject({ error: 'invalid_token' })
  expect(calls).toBe(0)
  expect(stage.counts()).toMatchObject({ injected: 1, not_applicable: 0 })
  expect(await stage.origins()).toEqual(['injected'])
})

it('asks for more scope, also of traffic that is not MCP', async () => {
  const rule = oneFault(
    'unauthorized: { status: 403, scope: "files:write", realm: files }',
    'match: { http: { path: /mcp } }',
  )
  const stage = opened(await startSidecar({ rules: [rule], upstream: jsonApp }))
  const got = await call(stage, 'no JSON')
  expect(got.status).toBe(403)
  expect(got.headers['www-authenticate']).toMatch(
    /^Bearer realm="files", error="insufficient_scope", error_description="[^"]+", scope="files:write"$/,
  )
})

it('turns no whole batch away for one call', async () => {
  const stage = opened(await startSidecar({ rules: [oneFault('unauthorized')], upstream: jsonApp }))
  const got = await call({ ...stage, headers: { 'x-batch': '1' } }, [
    callMessage(1),
    callMessage(2),
  ])
  expect(got.text).toBe(`[${resultText(1)} , ${resultText(2)}]`)
  expect(stage.notApplicable.map(({ reason }) => reason)).toEqual([
    'shared_exchange',
    'shared_exchange',
  ])
  expect(stage.counts()).toMatchObject({ sampled: 2, injected: 0, not_applicable: 2 })
})

it('holds nothing for a client that leaves', async () => {
  const stage = opened(await startSidecar({ rules: [oneFault('unauthorized')], upstream: jsonApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  client.close()
  await stage.settled()
  expect(stage.active()).toBe(0)
  expect((await call(stage, callMessage(2))).status).toBe(401)
})
