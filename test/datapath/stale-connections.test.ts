// part: slow
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  type ClientResponse,
  type HttpApp,
  RawClient,
  response as answer,
  startSidecar,
  startUpstream,
  toolCall,
} from '../support/wire.ts'
import { rounds } from '../support/rounds.ts'

const CALLS = rounds(60, 150)
// Below two seconds no connection is used again.
const KEPT = [3000, 1000, 2000, 5000].slice(0, rounds(1, 4))
const IDLE_CALLS = rounds(40, 100)

/** Responses that clients got and requests that the server saw, by the id of the call. */
interface Tally {
  readonly seen: Map<string, number>
  ok: number
  failed: number
}

function note(tally: Tally, id: string): void {
  tally.seen.set(id, (tally.seen.get(id) ?? 0) + 1)
}

function count(tally: Tally, given: ClientResponse | undefined): void {
  if (given?.status === 200 && given.complete) tally.ok++
  else tally.failed++
}

function mostSeen(tally: Tally): number {
  return Math.max(...tally.seen.values())
}

test('an upstream that closes idle connections at the moment of reuse never gets a call twice', async () => {
  const tally: Tally = { seen: new Map(), ok: 0, failed: 0 }
  const squall = await startSidecar({
    upstream: {
      keepBytes: false,
      script: async (e) => {
        note(tally, e.request.target + e.request.body.toString())
        await e.write(answer('200 OK', [], 'ok'))
        // At once, soon, or when the next request is already on its way.
        const wait = tally.seen.size % 5
        if (wait === 0) e.fin()
        // A reset at once would take the response with it.
        else if (wait === 1) setTimeout(() => e.reset(), 1)
        else setTimeout(() => e.fin(), wait - 2)
      },
    },
  })
  const clients = await Promise.all(
    Array.from({ length: 4 }, async (_, worker) => {
      for (let i = 0; i < CALLS; i++) {
        const client = await RawClient.connect(squall.port)
        await client.send(toolCall(`${worker}-${i}`), 'POST')
        count(tally, await client.response())
        client.close()
        if (i % 3 === 0) await sleep(i % 4)
      }
    }),
  )
  expect(clients).toHaveLength(4)
  await squall.close()
  expect(mostSeen(tally)).toBe(1)
  // Every connection here is about to close. Some calls are lost to that, as they would be for any
  // client that keeps connections; sending them once more is what must not happen.
  expect(tally.ok).toBeGreaterThan(CALLS * 2)
})

test('a connection that the upstream closed while it was idle costs nobody a response', async () => {
  const squall = await startSidecar({
    upstream: {
      script: async (e) => {
        await e.write(answer('200 OK', [], 'ok'))
        e.fin()
      },
    },
  })
  for (let i = 0; i < IDLE_CALLS; i++) {
    const client = await RawClient.connect(squall.port)
    await client.send(toolCall(i), 'POST')
    const given = await client.response()
    expect(given?.status, `call ${i}`).toBe(200)
    client.close()
    // The close has reached the other end of the loopback by then.
    await sleep(5)
  }
  expect(squall.app.requests).toHaveLength(IDLE_CALLS)
  await squall.close()
})

async function startNodeApp(keepAlive: number, tally: Tally): Promise<HttpApp> {
  const server = createServer({ keepAliveTimeout: keepAlive }, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      note(tally, Buffer.concat(parts).toString())
      response.end('ok')
    })
  })
  return startUpstream(server)
}

test.each(KEPT)(
  'calls at the edge of a keep-alive timeout of %i ms all get their response, once',
  { timeout: 30_000 },
  async (keepAlive) => {
    const tally: Tally = { seen: new Map(), ok: 0, failed: 0 }
    const server = await startNodeApp(keepAlive, tally)
    const squall = await startSidecar({ upstream: server.url })
    const workers = Array.from({ length: 24 }, async (_, worker) => {
      const client = await RawClient.connect(squall.port)
      // Node closes somewhat later than it says; each worker tries another moment around it.
      const pause = keepAlive + (worker - 8) * 60
      for (let i = 0; i < 2; i++) {
        await client.send(toolCall(`${worker}-${i}`), 'POST')
        count(tally, await client.response(i))
        if (i === 0) await sleep(pause)
      }
      client.close()
    })
    await Promise.all(workers)
    await squall.close()
    await server.close()
    expect(tally.failed).toBe(0)
    expect(tally.ok).toBe(48)
    expect(mostSeen(tally)).toBe(1)
  },
)
