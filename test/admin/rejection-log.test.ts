import { expect, it } from 'vitest'
import { RareLog } from '../../src/listener/rare-log.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const REJECTED = 'rejected a change on the admin port'

it('logs each reason once in five seconds, with the number left out', () => {
  const lines: object[] = []
  const none = (): void => undefined
  const warn = (fields: object): void => void lines.push(fields)
  let now = 0
  const log = new RareLog({ debug: none, info: none, error: none, warn }, () => now, 5_000)
  const attempt = (why: string): void =>
    log.write(why, { what: '/api/arm', from: '10.0.0.1', why }, REJECTED)
  for (let i = 0; i < 1_000; i++) attempt('a')
  attempt('b')
  now = 4_999
  attempt('a')
  now = 5_000
  attempt('a')
  now = 10_000
  attempt('a')
  const line = { what: '/api/arm', from: '10.0.0.1' }
  expect(lines).toEqual([
    { ...line, why: 'a' },
    { ...line, why: 'b' },
    { ...line, why: 'a', leftOut: 1_000 },
    { ...line, why: 'a' },
  ])
})

it('knows no more than so many reasons', () => {
  let lines = 0
  const none = (): void => undefined
  const logger = { debug: none, info: none, error: none, warn: () => void lines++ }
  const log = new RareLog(logger, () => 0)
  for (let i = 0; i < 1_000; i++) log.write(`${i}`, {}, REJECTED)
  expect(lines).toBe(33)
})

it('has each kind of refused change in the log, and nothing of what was sent', async () => {
  const api = opened(await startSquall({ admin: {} }))
  const wrong = 'a-guess-that-is-wrong'
  const send = async (path: string, headers: Record<string, string>, body = ''): Promise<number> =>
    (await api.post(path, body === '' ? undefined : body, headers)).status
  expect(await send('/api/disarm?q=asked', { authorization: '' })).toBe(401)
  for (let i = 0; i < 50; i++) await send('/api/arm', { authorization: `Bearer ${wrong}${i}` })
  expect(await send('/api/arm', { origin: 'http://elsewhere.example' })).toBe(403)
  expect(await send('/api/disarm', {}, '{"sent":1')).toBe(400)
  expect(await send('/api/disarm', {}, '{"sent":1}')).toBe(400)
  api.arming.disarm('environment', 'production')
  expect(await send('/api/arm', {})).toBe(409)
  const lines = api.log.filter(({ message }) => message === REJECTED)
  expect(lines.map(({ level, fields }) => ({ level, ...fields }))).toEqual(
    [
      ['/api/disarm', 'wrong admin token'],
      ['/api/arm', 'requests from pages of another origin are rejected'],
      ['/api/disarm', 'the body is not valid JSON'],
      ['/api/disarm', 'the body may have only the key `reason`, a string of 1 to 200 characters'],
      [
        '/api/arm',
        'still disarmed for reasons that the admin port cannot clear; nothing was changed',
      ],
    ].map(([what, why]) => ({ level: 'warn', what, why, from: '127.0.0.1' })),
  )
  const log = JSON.stringify(api.log)
  for (const secret of [wrong, 'sent', 'asked', 'elsewhere']) expect(log).not.toContain(secret)
})

it('logs attempts where no token is set', async () => {
  const api = opened(await startSquall({ admin: { token: undefined } }))
  expect((await api.post('/api/arm')).status).toBe(403)
  const [line] = api.log
  expect(line).toMatchObject({ level: 'warn', message: REJECTED })
  expect(line!.fields['why']).toMatch(/require an admin token/)
})
