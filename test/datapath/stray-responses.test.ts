import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  RawClient,
  response,
  type Script,
  type ScriptedSidecar,
  startSidecar,
  toolCall,
  valueOf,
} from '../support/wire.ts'

const opened = closers()
const STRAY = response('200 OK', ['X-Stray', 'yes'], 'stray')
/** Two blanks: the standard path reads such headers. */
const ODD = response('200 OK', ['X-App', ' odd'], 'odd')

async function call(squall: ScriptedSidecar, id: number): Promise<RawClient> {
  const client = opened(await RawClient.connect(squall.port))
  await client.send(toolCall(id), 'POST')
  await client.response()
  return client
}

/** Responds to each call with its id. */
const byId: Script = async (each) => {
  const { id } = JSON.parse(each.request.body.toString()) as { id: number }
  await each.write(response('200 OK', [], `to ${id}`))
}

/**
 * An upstream that responds twice has the second response read as the one to the next call on the
 * same connection: another client gets what was meant for the first one.
 */
describe('a response that nobody asked for', () => {
  test.each([
    ['a whole response', STRAY],
    ['the beginning of one', 'HTTP/1.1 200 OK\r\nX-Str'],
    ['bytes that are no response', '\0\0\0\0'],
    ['an interim response', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('that comes while the connection is idle ends it: %s', async (_, stray) => {
    for (const first of [byId, (each) => void each.write(ODD)] satisfies Script[]) {
      let script: Script = first
      const squall = opened(await startSidecar({ upstream: { script: (each) => script(each) } }))
      expect((await call(squall, 1)).responses[0]?.status).toBe(200)
      const [connection] = squall.app.connections
      connection!.socket.write(stray)
      await connection!.gone
      script = byId
      const second = await call(squall, 2)
      expect(second.responses[0]?.body.toString()).toBe('to 2')
      expect(squall.app.connections).toHaveLength(2)
    }
  })

  test('is never taken for another one with --upstream-reuse never', async () => {
    const script: Script = async (each) => {
      await byId(each)
      // Late enough to meet the next request, had it come by this connection.
      for (let i = 0; i < 20 && (await each.write(STRAY)); i++) {
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }
    const squall = opened(await startSidecar({ upstreamReuse: false, upstream: { script } }))
    for (let id = 0; id < 30; id++) {
      expect((await call(squall, id)).responses[0]?.body.toString()).toBe(`to ${id}`)
    }
    expect(squall.app.connections).toHaveLength(30)
    expect(squall.app.connections.every(({ requests }) => requests.length === 1)).toBe(true)
  })

  test.each([
    ['plain', byId],
    ['odd', (each) => void each.write(ODD)],
    ['without a body', (each) => void each.write(response('204 No Content'))],
  ] satisfies [string, Script][])(
    'with --upstream-reuse never a connection ends behind a response that is %s',
    async (_, script) => {
      const squall = opened(await startSidecar({ upstreamReuse: false, upstream: { script } }))
      for (let id = 0; id < 3; id++) {
        expect((await call(squall, id)).responses).toHaveLength(1)
        await squall.app.connections[id]!.gone
      }
      expect(squall.app.connections).toHaveLength(3)
      await eventually(async () =>
        /squall_connections\{kind="upstream"\} 0$/m.test(await squall.metrics())
          ? undefined
          : 'a connection is still counted',
      )
    },
  )
})

/** Interim responses are passed on as they come, and an upstream may send them without end. */
describe('interim responses', () => {
  const HINT = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'

  test('are passed on', async () => {
    const squall = opened(
      await startSidecar({
        upstream: { script: (each) => void each.send([HINT.repeat(64), STRAY]) },
      }),
    )
    const client = await call(squall, 1)
    expect(client.responses[0]?.infos).toHaveLength(64)
    expect(client.responses[0]?.status).toBe(200)
  })

  test('without end are answered with 502, and the connection to the upstream ends', async () => {
    const squall = opened(
      await startSidecar({
        upstream: {
          script: async (each) => {
            while (await each.write(HINT.repeat(10))) await new Promise(setImmediate)
          },
        },
      }),
    )
    const client = await call(squall, 1)
    const [given] = client.responses
    expect(given?.status).toBe(502)
    expect(valueOf(given!.headers, 'x-squall-error')).toBe('upstream_protocol')
    expect(given?.body.toString()).toContain('more than 64 interim responses')
    expect(given?.infos).toHaveLength(64)
    await squall.app.connections[0]!.gone
  })
})

test.each(['HTTP/2.0', 'HTTP/0.9'])('a response in %s is not passed on', async (version) => {
  const text = `${version} 200 OK\r\nContent-Length: 2\r\n\r\nok`
  const squall = opened(
    await startSidecar({ upstream: { script: (each) => void each.write(text) } }),
  )
  const [given] = (await call(squall, 1)).responses
  expect(given?.status).toBe(502)
  expect(valueOf(given!.headers, 'x-squall-error')).toBe('upstream_protocol')
})
