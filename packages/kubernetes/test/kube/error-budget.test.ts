import type { RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { decideQueries } from '../../src/kube/error-budget.ts'

const opened = closers()
const CHAOS = { namespace: 'shop', now: Date.parse('2026-11-30T10:00:00Z'), prefix: 'squall.dev/' }
const LIMITS = { query: 'left', above: '0.5', by: 'sre' }

/** Decides with a server in the place of Prometheus, which sees the queries. */
async function decided(
  listener: RequestListener,
  data: Readonly<Record<string, string>> = LIMITS,
): Promise<{ readonly why: string | undefined; readonly seen: readonly string[] }> {
  const seen: string[] = []
  const { port } = opened(
    await startUpstream((request, response) => {
      seen.push(request.url ?? '')
      listener(request, response)
    }),
  )
  const prometheus = `http://127.0.0.1:${port}/base/`
  const why = await decideQueries({ data: { prometheus, ...data } }, CHAOS, undefined)
  return { why, seen }
}

function responding(result: unknown, resultType = 'vector'): RequestListener {
  const text = JSON.stringify({ status: 'success', data: { resultType, result } })
  return (_, response) => void response.end(text)
}

const row = (value: string) => [{ metric: {}, value: [1, value] }]

test.each([
  [LIMITS, '0.51', undefined],
  [LIMITS, '0.5', 'above 0.5, now 0.5; set by sre'],
  [{ query: 'rate', below: '0.01', by: 'sre' }, '0.009', undefined],
  [{ query: 'rate', below: '0.01', by: 'sre' }, '0.02', 'below 0.01, now 0.02; set by sre'],
  [
    { query: 'x', above: '-1', below: '1', by: 'sre', reason: 'SLO' },
    '2',
    'now 2: SLO; set by sre',
  ],
  [{ query: 'x', above: '-1', below: '1' }, '0', undefined],
  [
    { 'query.shop': 'x', 'below.shop': '1', 'by.shop': 'owner' },
    '3',
    'query.shop is below 1, now 3',
  ],
  [{ 'query.cart': 'x', 'below.cart': '1' }, '3', undefined],
])('the budget %j allows the value %s unless: %s', async (data, value, denial) => {
  const { why } = await decided(responding(row(value)), data)
  if (denial === undefined) expect(why).toBeUndefined()
  else expect(why).toContain(denial)
})

test('the query is one of the API below the address, and a scalar is a value, too', async () => {
  const { why, seen } = await decided(responding([1, '1'], 'scalar'))
  expect(why).toBeUndefined()
  expect(seen).toEqual(['/base/api/v1/query?query=left'])
})

test.each<[string, RequestListener, string]>([
  ['no series', responding([]), 'expected one series, got 0'],
  ['two series', responding([...row('1'), ...row('1')]), 'expected one series, got 2'],
  ['a value that is no number', responding(row('NaN')), 'not a number'],
  ['an infinite value', responding(row('+Inf')), 'not a number'],
  ['a hostile value', responding([{ value: 'secret' }]), 'not a number'],
  ['a matrix', responding([], 'matrix'), 'must be a vector or a scalar'],
  ['no JSON', (_, response) => void response.end('secret <html>'), 'returned invalid JSON'],
  ['an error', (_, response) => void response.writeHead(503).end('secret'), 'status 503'],
  [
    'a redirect, which is not followed',
    (request, response) => {
      if (request.url === '/secret') return responding(row('1'))(request, response)
      response.writeHead(302, { location: '/secret' }).end()
    },
    'status 302',
  ],
  [
    'a long response',
    (_, response) => void response.end(' '.repeat(70_000)),
    'sent more than 65536 bytes',
  ],
  [
    'a response that does not end',
    (_, response) => {
      // On Node 24, a write to a destroyed socket calls back at once: others must get their turn.
      const next = (): void => void setImmediate(() => response.destroyed || write())
      const write = (): void => void response.write(' '.repeat(16_384), next)
      write()
      response.on('error', () => undefined)
    },
    'sent more than 65536 bytes',
  ],
  ['no response', () => undefined, 'no response within 1.5 s'],
  ['an end of the connection', ({ socket }) => void socket.destroy(), 'UND_ERR_SOCKET'],
])('%s allows nothing, and no message repeats it', async (_, listener, why) => {
  const found = await decided(listener)
  expect(found.why).toContain(`closed until the value of query is above 0.5, now unknown, `)
  expect(found.why).toContain(why)
  expect(found.why).toContain('set by sre')
  expect(found.why).not.toMatch(/secret|127\.0\.0\.1/)
})

test.each([
  [{ query: 'x', above: '1' }, 'query requires prometheus'],
  [{ query: 'x', above: '1', prometheus: 'file:///etc/passwd' }, 'query requires prometheus'],
  [{ query: 'x', above: '1', prometheus: 'http://me:secret@a' }, 'query requires prometheus'],
  [{ query: 'x', prometheus: 'http://a' }, 'query requires a number in above or below'],
  [{ above: '1' }, 'above requires query'],
  [{ 'query.shop': 'x', below: '1' }, 'query.shop requires a number in above.shop'],
])('the budget %j allows nothing: %s', async (data, why) => {
  const found = await decideQueries({ data }, CHAOS, undefined)
  expect(found).toContain(why)
  expect(found).not.toContain('secret')
})
