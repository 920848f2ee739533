import type { Failure } from '../mcp/transfer.ts'
import type { SocketFate } from './lane.ts'

/** Tells what happened to a transfer from undici's error and from what the socket itself reported. */
export function failureOf(error: Error, fate: SocketFate): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const { message } = error
  if (fate === 'reset') return { kind: 'reset', message: 'the app reset the connection' }
  if (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE')
    return { kind: 'protocol', message }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'protocol', message }
  if (code === 'UND_ERR_SOCKET' && message.startsWith('bad ')) return { kind: 'protocol', message }
  // With TLS 1.3 the app refuses a certificate only after the handshake.
  if (code === 'SQUALL_CONNECT' || code.startsWith('ERR_SSL_')) return { kind: 'connect', message }
  if (fate === 'closed') {
    return { kind: 'closed', message: 'the app closed the connection before its answer was whole' }
  }
  return { kind: 'closed', message }
}
