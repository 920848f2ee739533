import { expect, test } from 'vitest'
import { differences } from './compare.ts'
import type { AppSeen, End, Observed } from './observed.ts'
import type { Script } from './script.ts'

const SCRIPT: Script = { about: 'by hand', clients: [], responses: [], slow: false }
const POST = 'POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'
const DROPPED = 'http http 0 upstream'
const LENGTH = 'Content-Length: 2\r\n\r\n{}'
const APPS = `HTTP/1.1 200 OK\r\n${LENGTH}`
const FAULT = `HTTP/1.1 401 Unauthorized\r\nx-squall-fault: a/unauthorized\r\n${LENGTH}`
const REFUSAL = `HTTP/1.1 400 Bad Request\r\nx-squall-error: bad_request\r\n${LENGTH}`

function seen(received: string, app: readonly AppSeen[] = [], told: string[] = []): Observed {
  return {
    clients: [{ received, end: 'fin', waits: '', after: '', afterEnd: 'fin' }],
    app,
    told,
    left: [],
  }
}

function atApp(end: End, ...requests: string[]): AppSeen {
  return { requests, end }
}

function apart(standard: Observed, fast: Observed, patient = true, narrow = false): number {
  return differences(standard, fast, { script: SCRIPT, narrow, patient }).length
}

test('answers of its own may be missing before the same refusal, where one engine waited', () => {
  expect(apart(seen(APPS + FAULT + FAULT + REFUSAL), seen(APPS + REFUSAL))).toBe(0)
  expect(apart(seen(APPS + FAULT + REFUSAL), seen(APPS + REFUSAL), false)).toBe(1)
})

test('no response of the upstream may be missing, none may come twice, and no refusal', () => {
  expect(apart(seen(APPS + REFUSAL), seen(REFUSAL))).toBe(1)
  expect(apart(seen(FAULT + APPS + REFUSAL), seen(APPS + REFUSAL))).toBe(1)
  expect(apart(seen(FAULT + REFUSAL), seen(FAULT + FAULT + REFUSAL))).toBe(1)
  expect(apart(seen(APPS + FAULT + REFUSAL), seen(APPS))).toBe(1)
  expect(apart(seen(APPS + FAULT), seen(APPS))).toBe(1)
  expect(apart(seen(FAULT + APPS), seen(APPS))).toBe(1)
})

test('a dropped request ends a used connection with one engine and a new one with the other', () => {
  const used = seen(APPS, [atApp('fin', POST)], [DROPPED])
  expect(apart(used, seen(APPS, [atApp('kept', POST), atApp('fin')], [DROPPED]))).toBe(0)
  const rejected = ['http post 400 squall']
  const ended = seen(APPS, [atApp('fin', POST)], rejected)
  expect(apart(ended, seen(APPS, [atApp('kept', POST)], rejected))).toBe(0)
  expect(apart(ended, seen(APPS, [], rejected))).toBe(1)
  const twice = [atApp('kept', POST), atApp('fin', POST)]
  expect(apart(seen(APPS, [atApp('kept', POST)], rejected), seen(APPS, twice, rejected))).toBe(1)
  expect(apart(used, seen(APPS, [atApp('kept', POST)], [DROPPED]))).toBe(1)
  expect(apart(used, seen(APPS, [atApp('kept', POST), atApp('kept')], [DROPPED]))).toBe(1)
})

test('a dropped request may have been sent where a narrow bound ends idle connections too', () => {
  const put = POST.replace('POST', 'PUT')
  const none = [atApp('fin', POST), atApp('fin')]
  const sent = seen(APPS, [atApp('fin', POST, put)], [DROPPED])
  expect(apart(sent, seen(APPS, none, [DROPPED]), false, true)).toBe(0)
  expect(
    apart(
      seen(APPS, [atApp('kept', POST, put)], [DROPPED]),
      seen(APPS, none, [DROPPED]),
      false,
      true,
    ),
  ).toBe(1)
  expect(apart(seen(APPS, [atApp('fin', POST, put)]), seen(APPS, none), false, true)).toBe(1)
})

test('a request behind a response that closes the connection may be complete with one engine', () => {
  const script: Script = {
    ...SCRIPT,
    clients: [[{ do: 'send', bytes: '', asks: ['HEAD', 'POST'] }]],
  }
  const closed = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'
  const [done, lost] = ['call a b ok real 36', 'call a b abandoned real']
  const played = (text: string, told: string, end: End): Observed =>
    seen(text, [atApp(end, POST)], [told])
  const count = (text: string, first = done, second = lost): number => {
    const how = { script, narrow: false, patient: false }
    const [standard, fast] = [played(text, first, 'kept'), played(text, second, 'rst')]
    const found = differences(standard, fast, how).length
    expect(differences(fast, standard, how).length).toBe(found)
    return found
  }
  expect(count(closed)).toBe(0)
  expect(count(APPS)).not.toBe(0)
  expect(count(APPS + closed)).not.toBe(0)
  expect(count(closed, done, 'call a c abandoned real')).not.toBe(0)
})

test('a connection that ends for no dropped request must end with both', () => {
  const used = seen(APPS, [atApp('fin', POST)])
  expect(apart(used, seen(APPS, [atApp('kept', POST), atApp('fin')]))).toBe(1)
})

test('a long body may be cut into other chunks on its way to the upstream, and a short one may not', () => {
  const head = 'POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
  const chunked = (...sizes: number[]): string =>
    head + sizes.map((size) => `${size.toString(16)}\r\n${'p'.repeat(size)}\r\n`).join('')
  const sent = (text: string): Observed => seen('', [atApp('kept', text)])
  const [whole, cut] = [`${chunked(70_000)}0\r\n\r\n`, `${chunked(65_433, 4567)}0\r\n\r\n`]
  expect(apart(sent(whole), sent(cut))).toBe(0)
  expect(apart(sent(chunked(70_000)), sent(chunked(65_433)))).toBe(1)
  expect(apart(sent(whole), sent(cut.slice(0, -5)))).toBe(1)
  expect(apart(sent(whole), sent(cut.replace('p\r\n0', 'q\r\n0')))).toBe(1)
  expect(apart(sent(whole), sent(`${cut.slice(0, -2)}X: 1\r\n\r\n`))).toBe(1)
  expect(apart(sent(chunked(500)), sent(chunked(250, 250)))).toBe(1)
})

test('a reset may drop the end of a long response, and nothing of a short one', () => {
  const reset = (received: string, end: End = 'rst', told: string[] = []): Observed => ({
    ...seen(''),
    told,
    clients: [{ received, end, waits: '', after: '', afterEnd: 'fin' }],
  })
  const long = 'x'.repeat(33_000)
  expect(apart(reset(`${long}y`), reset(long))).toBe(0)
  expect(apart(reset(long), reset(`${long}y`))).toBe(0)
  expect(apart(reset(`${long}yy`), reset(`${long}z`))).toBe(1)
  expect(apart(reset('xy'), reset('x'))).toBe(1)
  expect(apart(reset(`${long}y`, 'fin'), reset(long, 'fin'))).toBe(1)
  // Nor does all of it leave where what comes behind its request ends the connection.
  const behind = ['rejected bad_request']
  expect(apart(reset(`${long}y`, 'fin', behind), reset(long, 'fin', behind))).toBe(0)
  expect(apart(reset(`${long}y`, 'fin', behind), reset(long, 'rst', behind))).toBe(0)
  expect(apart(reset(`${long}y`, 'fin'), reset(long, 'rst'))).toBeGreaterThan(0)
  expect(apart(reset('xy', 'fin', behind), reset('x', 'fin', behind))).toBe(1)
  expect(apart(reset(`${long}y`, 'kept', behind), reset(long, 'kept', behind))).toBe(1)
})
