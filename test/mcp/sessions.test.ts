import { expect, test } from 'vitest'
import { Endpoints } from '../../src/mcp/endpoints.ts'
import { Sessions } from '../../src/mcp/sessions.ts'

test('the session that was not used for longest is forgotten first', () => {
  const evicted: string[] = []
  const sessions = new Sessions(2, (id) => evicted.push(id))
  sessions.learn('a', { transport: 'streamable-http' })
  sessions.learn('b', { transport: 'streamable-http' })
  sessions.get('a')
  sessions.learn('c', { transport: 'streamable-http' })
  expect(evicted).toEqual(['b'])
  expect(sessions.get('b')).toBeUndefined()
  sessions.forget('a')
  expect(sessions.size).toBe(1)
  expect(sessions.hasEnded('a')).toBe(true)
  sessions.learn('a', { transport: 'streamable-http' })
  expect(sessions.hasEnded('a')).toBe(false)
})

test('what is learned adds to what is known', () => {
  const sessions = new Sessions(2)
  sessions.learn('a', { transport: 'http+sse', client: { name: 'n', version: '1' } })
  sessions.learn('a', { transport: 'http+sse', protocolVersion: '2024-11-05', client: undefined })
  expect(sessions.get('a')).toEqual({
    transport: 'http+sse',
    protocolVersion: '2024-11-05',
    client: { name: 'n', version: '1' },
  })
  sessions.learn('x'.repeat(5000), { transport: 'http+sse' })
  expect(sessions.size).toBe(1)
})

test.each([
  ['/sse', '/message?sessionId=1', '/message?sessionId=1'],
  ['/a/sse?x=1', 'message?sessionId=1', '/a/message?sessionId=1'],
  ['http://h/a/sse', 'm', '/a/m'],
  ['/sse', 'https://public.example/m?s=1', '/m?s=1'],
  ['/sse', '?s=1', '/sse?s=1'],
  ['/sse', '/m?s=日', '/m?s=%E6%97%A5'],
])('on %s the endpoint %s is %s', (target, data, key) => {
  const endpoints = new Endpoints(10)
  expect(endpoints.announce(target, data)).toBe(key)
  expect(endpoints.lookup(key)).toBe(key)
  expect(endpoints.lookup(`http://host${key}`)).toBe(key)
  expect(endpoints.lookup('/other')).toBeUndefined()
})

test.each(['javascript:alert(1)', 'http://', `/${'x'.repeat(9000)}`])(
  '%s is no endpoint',
  (data) => {
    const endpoints = new Endpoints(10)
    expect(endpoints.announce('/sse', data)).toBeUndefined()
    expect(endpoints.size).toBe(0)
  },
)

test('an endpoint that several streams share stays until the last has ended', () => {
  const endpoints = new Endpoints(10)
  const key = endpoints.announce('/sse', '/m')!
  endpoints.announce('/sse', '/m')
  expect(endpoints.forget(key)).toBe(false)
  expect(endpoints.lookup('/m')).toBe(key)
  expect(endpoints.forget(key)).toBe(true)
  expect(endpoints.lookup('/m')).toBeUndefined()
})

test('endpoints are bounded', () => {
  const evicted: string[] = []
  const endpoints = new Endpoints(1, (key) => evicted.push(key))
  endpoints.announce('/sse', '/1')
  endpoints.announce('/sse', '/2')
  expect(evicted).toEqual(['/1'])
})
