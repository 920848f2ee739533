import type { RequestListener } from 'node:http'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { changeArming } from '../../src/top/controls.ts'
import { foreignCell as foreign } from '../../../../src/base/text/foreign-text.ts'
import { watchFleet } from '../../src/top/feed.ts'
import { readSnapshot } from '../../src/top/read-snapshot.ts'
import { closers } from '../../../../test/support/closers.ts'
import { event, rule, tool } from './boards.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { rounds } from '../../../../test/support/rounds.ts'

const opened = closers()
// oxlint-disable-next-line no-control-regex -- that is what it is about
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/

/** A server that claims to be a sidecar. */
async function serve(listener: RequestListener): Promise<{ host: string; port: number }> {
  return { host: '127.0.0.1', port: opened(await startUpstream(listener)).port }
}

/** Why the feed of such a server is lost. */
async function lostBy(listener: RequestListener, silenceMs = 5_000): Promise<string> {
  const endpoint = await serve(listener)
  return new Promise((resolve) => {
    const changed = (): void => {
      const [view] = fleet.board().sidecars
      if (view?.link !== 'lost') return
      fleet.close()
      resolve(view.problem)
    }
    const fleet = watchFleet([endpoint], changed, { silenceMs, retryMs: 60_000 })
  })
}

const stream =
  (text: string): RequestListener =>
  (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(text)
  }

it('shows no control sequences and no unbounded text', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 0x10ffff }), { maxLength: 300 }), (codes) => {
      const text = String.fromCodePoint(...codes)
      const shown = foreign(text)
      expect(shown).not.toMatch(OBEYED)
      expect(shown.length).toBeLessThanOrEqual(121 * 10)
    }),
    { numRuns: 50 },
  )
})

it('reads any event or reports that it is invalid', () => {
  const reported = { rules: [rule('a', 1)], tools: [tool('t', [1, 1])], lastReload: null }
  const base = JSON.parse(event(0, reported)) as object
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(), (value, index) => {
      const text = JSON.stringify(replaced(base, value, index))
      try {
        const snapshot = JSON.stringify(readSnapshot(text))
        expect(snapshot).not.toContain('null,null,null')
        expect(JSON.parse(snapshot)).toMatchObject({ armed: expect.any(Boolean) })
      } catch (error) {
        expect(error).toMatchObject({ name: 'AdminError' })
      }
    }),
    { numRuns: rounds(100, 300) },
  )
})

it('bounds everything that it keeps', () => {
  const many = Array(2_500).fill(0)
  const snapshot = readSnapshot(
    event(0, {
      rules: many.map((_, i) =>
        rule(`${i}${'x'.repeat(500)}`, 1, { faults: many.slice(0, 30).map(String) }),
      ),
      tools: many.map((_, i) => tool(`${i}`, [1, 1])),
      faults: many.map(() => ({
        at: null,
        rule: 'r',
        fault: '\u001b[31m',
        effect: 'e'.repeat(9_000),
      })),
    }),
  )
  expect(snapshot.rules).toHaveLength(2_010)
  expect(snapshot.rules[0]!.name).toHaveLength(251)
  expect(snapshot.rules[0]!.faults).toHaveLength(20)
  expect(snapshot.tools).toHaveLength(250)
  expect(snapshot.faults.list).toHaveLength(200)
  expect(snapshot.faults.list[0]).toMatchObject({ fault: '\\u{1b}[31m' })
  expect(snapshot.faults.list[0]!.effect).toHaveLength(251)
})

it('reports why there are no events', async () => {
  const page: RequestListener = (_, res) => res.end('<html>')
  const full: RequestListener = (_, res) =>
    res.writeHead(503).end('{"error":"\u001b[2J16 streams are open"}'.replace('\u001b', '\\u001b'))
  const endless: RequestListener = (_, res) => {
    res.writeHead(500)
    const write = (): void => {
      while (!res.destroyed && res.write('x'.repeat(65_536)));
      if (!res.destroyed) res.once('drain', write)
    }
    write()
  }
  expect(
    await Promise.all([
      lostBy(page),
      lostBy((_, res) => res.writeHead(404).end('{}')),
      lostBy(full),
      lostBy(endless),
      lostBy(stream('data: {"state":\n\n')),
      lostBy(stream(`data: ${'['.repeat(40_000)}\n\n`)),
      lostBy(stream('data: {"state":7}\n\n')),
      lostBy(stream(`data: ${'x'.repeat(4_200_000)}`)),
      lostBy((req) => req.socket.end('SSH-2.0\r\n\r\n')),
      lostBy((req) => req.socket.destroy()),
      lostBy(stream(': nothing\n'), 150),
      lostBy(() => undefined, 150),
      lostBy((_, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end()),
    ]),
  ).toEqual([
    'not a Squall admin port',
    'reports no rules: not a Squall admin port, or Squall runs without --rules',
    'responded with status 503: \\u{1b}[2J16 streams are open',
    'responded with status 500',
    '/api/events: the response is not valid JSON',
    'sent an event that is too large',
    '/api/events cannot be read: at is missing; check that this command and the sidecar run the same version of Squall',
    'sent an event that is too large',
    'is not an HTTP server',
    'connection reset',
    'no event for too long',
    'no event for too long',
    'the connection ended',
  ])
})

it('never shows the token, even when a server echoes it', async () => {
  const endpoint = await serve((req, res) => {
    res
      .writeHead(418)
      .end(JSON.stringify({ error: `${'x'.repeat(180)} ${req.headers.authorization}` }))
  })
  const said = await changeArming(endpoint, 'arm', 'a-token-that-nobody-sees')
  expect(said).toBe(`responded with status 418: ${'x'.repeat(180)} Bearer …`)
})

/** Returns a copy of the value in which the part with this index is replaced. */
function replaced(value: object, by: unknown, index: number): unknown {
  const text = JSON.stringify(value)
  let seen = 0
  const parts = JSON.stringify(value, (_, part: unknown) => (seen++, part)) === text ? seen : 1
  let now = 0
  return JSON.parse(text, (_, part: unknown) => (now++ === index % parts ? by : part)) as unknown
}
