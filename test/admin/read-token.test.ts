import { expect, it } from 'vitest'
import { askRules, askState } from '../../packages/experiments/src/experiment/sidecar-admin.ts'
import { topOnce } from '../../packages/tools/src/top/top.ts'
import { askedAs } from './asked-as.ts'
import { closers } from '../support/closers.ts'
import { RULES, TOKEN } from './api-setup.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const READ_TOKEN = 'a-read-token:of-tests'
const READS = [
  '/',
  '/page/main.js',
  '/metrics',
  '/api/state',
  '/api/rules',
  '/api/injections',
  '/api/errors',
]

async function start() {
  const api = await startSquall({ admin: { access: { readToken: READ_TOKEN } } })
  opened(api)
  api.take(RULES)
  return api
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

it.each([...READS, '/api/events', '/api/tap'])(
  'refuses to show %s without the token',
  async (path) => {
    const { port, log } = await start()
    for (const headers of [
      {},
      { authorization: 'Bearer' },
      { authorization: 'Bearer a-token-somebody-guessed' },
      { authorization: `Bearer ${READ_TOKEN}x` },
      { authorization: basic(READ_TOKEN, 'wrong') },
      { authorization: 'Basic !' },
      { 'x-squall-authorization': READ_TOKEN },
      { 'sec-squall-client': 'top' },
    ]) {
      const { status, headers: responded, body } = await askedAs(port, path, headers)
      expect(status).toBe(401)
      expect(responded['www-authenticate']).toBe('Basic realm="squall admin", charset="UTF-8"')
      expect(body).not.toContain('slow')
    }
    // One line for each reason, with nothing of what was sent.
    expect(log.map(({ message }) => message)).toEqual([
      'rejected a read on the admin port',
      'rejected a read on the admin port',
    ])
    expect(JSON.stringify(log)).not.toMatch(/guessed|a-read-token/)
    const metrics = await askedAs(port, '/metrics', { authorization: `Bearer ${READ_TOKEN}` })
    expect(metrics.body).toContain('squall_admin_rejected_total{reason="token"} 8')
  },
)

it.each([
  ['a scraper', { authorization: `Bearer ${READ_TOKEN}` }],
  ['a browser', { authorization: basic('anybody', READ_TOKEN) }],
  ['a client behind an API server', { 'x-squall-authorization': `bearer ${READ_TOKEN}` }],
  ['an operator', { authorization: `Bearer ${TOKEN}` }],
])('shows everything to %s', async (_who, headers) => {
  const { port, log } = await start()
  for (const path of READS) {
    expect((await askedAs(port, path, headers)).status).toBe(200)
  }
  expect((await askedAs(port, '/api/events', headers)).body).toContain('slow')
  expect(log).toEqual([])
})

it('does not let the read token change anything', async () => {
  const { port, arming } = await start()
  for (const authorization of [`Bearer ${READ_TOKEN}`, basic('a', READ_TOKEN), basic('a', TOKEN)]) {
    expect((await askedAs(port, '/api/disarm', { authorization }, 'POST')).status).toBe(401)
  }
  expect(arming.reasons).toEqual([])
})

it('is what squall experiment reads the sidecar with', async () => {
  const { url } = await start()
  const admin = { url: new URL(url) }
  await expect(askState(admin)).rejects.toThrow('SQUALL_ADMIN_READ_TOKEN')
  await expect(askRules({ ...admin, readToken: READ_TOKEN })).resolves.toMatchObject([
    { name: 'slow' },
    { name: 'never' },
  ])
})

it('is what squall top reads sidecars with', async () => {
  const { port } = await start()
  const texts: string[] = []
  const options = {
    endpoints: [{ host: '127.0.0.1', port }],
    json: true,
    colours: false,
    width: 80,
    write: (text: string) => void texts.push(text),
  }
  expect(await topOnce(options)).toBe(1)
  expect(texts.join('')).toContain('SQUALL_ADMIN_READ_TOKEN')
  expect(await topOnce({ ...options, readToken: 'another-read-token' })).toBe(1)
  expect(await topOnce({ ...options, readToken: READ_TOKEN })).toBe(0)
  expect(texts.join('')).not.toContain(READ_TOKEN)
})
