// part: slow
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AppExchange,
  metricOf,
  RawClient,
  response,
  startUpstream,
  toolCall,
} from '../support/wire.ts'
import { portOf, startProgram } from '../support/commands.ts'

const opened = closers()
const OPEN_FILES = 256
const CLIENTS = 400

/**
 * Clients that hold their connections took every descriptor of the process: scrapes and probes were
 * not accepted any more, and calls that had been accepted got no connection to the upstream.
 */
test('clients that hang take no descriptor from the admin port or from accepted calls', async () => {
  const held: AppExchange[] = []
  const app = opened(await startUpstream({ script: (each) => void held.push(each) }))
  const args = ['run', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--upstream', app.url]
  const program = startProgram(args, {}, { openFiles: OPEN_FILES })
  opened({ close: () => program.kill() })
  const admin = `http://${String((await program.logged('admin listening'))['address'])}`
  const reported = await program.logged(
    'the limit on open files allows fewer connections than configured; raise ulimit -n',
  )
  expect(reported).toMatchObject({ level: 'warn', openFiles: OPEN_FILES })
  const most = Number(reported['maxConnections'])
  expect(most).toBeGreaterThan(50)
  const port = portOf(await program.logged('listening'))
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => RawClient.connect(port)))
  for (const each of clients) opened(each)
  await Promise.all(clients.map((each, id) => each.send(toolCall(id), 'POST')))
  await eventually(() =>
    held.length === most ? undefined : `${held.length} calls at the upstream`,
  )
  const served = (): RawClient[] => clients.filter(({ closeState }) => closeState === undefined)
  await eventually(() => (served().length === most ? undefined : `${served().length} are served`))
  for (let i = 0; i < 5; i++) {
    expect((await fetch(`${admin}/livez`)).status).toBe(200)
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    expect(metricOf(metrics, 'squall_connections', { kind: 'client' })).toBe(most)
    expect(metricOf(metrics, 'squall_connections', { kind: 'upstream' })).toBe(most)
  }
  // Clients that were not served got 503, or were closed at once.
  for (const { responses } of clients) {
    for (const { status } of responses) expect(status).toBe(503)
  }
  const waiting = served()
  for (const each of held) await each.write(response('200 OK', [], 'ok'))
  for (const each of waiting) expect((await each.response())?.status).toBe(200)
})
