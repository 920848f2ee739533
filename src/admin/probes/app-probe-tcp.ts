import { connect } from 'node:net'
import type { CheckContext, Finding, TcpAction } from './app-probe.ts'

/** Well when the app takes a connection. */
export function checkTcp({ host, port }: TcpAction, { signal }: CheckContext): Promise<Finding> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    const abort = (): void => void socket.destroy(new Error('ended'))
    signal.addEventListener('abort', abort, { once: true })
    socket.on('close', () => signal.removeEventListener('abort', abort))
    socket.on('error', reject)
    socket.on('connect', () => {
      resolve({ ok: true, why: 'the app takes connections' })
      socket.destroy()
    })
    if (signal.aborted) abort()
  })
}
