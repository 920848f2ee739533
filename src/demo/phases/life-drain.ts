import { connect } from 'node:net'
import { PlainClient } from '../plain-client.ts'
import type { Stage } from '../stage.ts'

/** What happened to a call that was under way when its sidecar was told to stop. */
export interface DrainResult {
  readonly ending: string
  /** Events of the answer that arrived: three of progress, and the result. */
  readonly events: number
  readonly finishedMs: number
  /** A connection that was tried meanwhile was not accepted. */
  readonly refusedNew: boolean
  readonly endedMs: number
}

const TAKES_MS = 600

/** Tells a sidecar to stop while it passes a slow answer on. */
export async function drainUnderWay(stage: Stage): Promise<DrainResult> {
  // One of its own: the first one is still wanted.
  const sidecar = await stage.addSidecar()
  const client = new PlainClient(sidecar.port, 1)
  const answering = client.send({
    id: 1,
    method: 'tools/call',
    params: { name: 'summarize', arguments: { text: 'the last call', take_ms: TAKES_MS } },
  })
  await stage.app.callArrived()
  const orderedAt = performance.now()
  const ended = sidecar.running.drain().then(() => performance.now() - orderedAt)
  const refusedNew = !(await accepts(sidecar.port))
  const answer = await answering
  const finishedMs = performance.now() - orderedAt
  const events = answer.body.toString().split('\ndata: ').length - 1
  const endedMs = await ended
  client.close()
  return { ending: answer.ending, events, finishedMs, refusedNew, endedMs }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
