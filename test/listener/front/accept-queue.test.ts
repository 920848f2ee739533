import { request } from 'node:http'
import { expect, test } from 'vitest'
import { startSidecar } from '../../support/wire.ts'

const WAITING = 50

/** Begins a request on a connection of its own; resolves to status and connection, or the error. */
function get(port: number): Promise<string> {
  return new Promise((resolve) => {
    const headers = { connection: 'keep-alive' }
    const sent = request({ port, host: '127.0.0.1', agent: false, headers }, (response) => {
      response.resume()
      resolve(`${response.statusCode} ${response.headers.connection}`)
    })
    sent.on('error', (error) => resolve(error.message)).end()
  })
}

test.each(['fast', 'standard'] as const)(
  'connections that wait to be accepted when a drain begins get their responses (%s)',
  async (engine) => {
    const squall = await startSidecar({ upstream: (_req, res) => res.end('ok'), engine })
    const responses = Array.from({ length: WAITING }, () => get(squall.port))
    // Connections begin in the next tick, and wait until the event loop polls.
    const drained = new Promise((resolve) => {
      process.nextTick(() => resolve(squall.sidecar.drain()))
    })
    expect(await Promise.all(responses)).toEqual(Array<string>(WAITING).fill('200 close'))
    await drained
    expect(await get(squall.port)).toContain('ECONNREFUSED')
    await squall.close()
  },
)
