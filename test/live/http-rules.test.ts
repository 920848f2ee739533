import { afterEach, expect, it } from 'vitest'
import type { RequestListener } from 'node:http'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

/** Responds with the status that the path ends with. */
const statuses: RequestListener = (req, res) => {
  const status = Number(req.url?.split('/').at(-1)) || 200
  req.resume().on('end', () => void res.writeHead(status).end(`said ${status}`))
}

async function start(rules: string): Promise<RuledSquall> {
  const started = await startSquall({ rules: `rules:\n${rules}`, upstream: statuses })
  running.push(started)
  return started
}

async function get({ squall }: RuledSquall, path: string) {
  const response = await fetch(`http://127.0.0.1:${squall.port}${path}`)
  return {
    status: response.status,
    text: await response.text(),
    marker: response.headers.get('x-squall-fault'),
  }
}

const ON_5XX = `  - name: worse
    match: { http: { path: '/api/*', status: 5xx } }
    faults: [abort: { status: 599, body: worse, at: response }]
`

it('a rule about the status acts on answers of that status, and on no others', async () => {
  const started = await start(ON_5XX)
  expect(await get(started, '/api/500')).toEqual({
    status: 599,
    text: 'worse',
    marker: 'worse/abort',
  })
  expect(await get(started, '/api/404')).toEqual({ status: 404, text: 'said 404', marker: null })
  expect(await get(started, '/else/500')).toEqual({ status: 500, text: 'said 500', marker: null })
  const { squall } = started
  const labels = { rule: 'worse', result: 'injected' }
  expect(await squall.metric('squall_rule_evaluations_total', labels)).toBe(1)
  expect(await squall.metric('squall_http_requests_total', { origin: 'injected' })).toBe(1)
  expect(await squall.metric('squall_http_requests_total', { origin: 'real' })).toBe(2)
})

it('a rule about the path acts before the upstream is called, and spares health probes', async () => {
  const started = await start(
    `  - name: down\n    match: { http: { path: '*' } }\n    faults: [abort: { status: 503 }]\n`,
  )
  expect((await get(started, '/page')).status).toBe(503)
  expect((await get(started, '/healthz')).status).toBe(200)
  expect((await get(started, '/.well-known/oauth-protected-resource')).status).toBe(200)
})
