import type { Failure } from '../http/transfer.ts'
import type { SocketState } from './undici-connection.ts'

/** Classifies a failed transfer by undici's error, and the socket's own events and error. */
export function failureOf(error: Error, state: SocketState, own?: NodeJS.ErrnoException): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const { message } = error
  if (state === 'reset') return { kind: 'reset', message: 'the upstream reset the connection' }
  if (state === 'broken' && isUnreadable(error, code)) return { kind: 'protocol', message }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'protocol', message }
  if (code === 'UND_ERR_SOCKET' && message.startsWith('bad ')) return { kind: 'protocol', message }
  // With TLS 1.3, a server rejects the client's certificate only after the handshake.
  if (/_ALERT_.*(?:CERTIFICATE|UNKNOWN_CA)/.test(own?.code ?? '')) {
    const hint = `${own!.message.trim()}; set --upstream-cert and --upstream-key`
    return { kind: 'closed', message, hint }
  }
  if (code === 'SQUALL_CONNECT') return { kind: 'connect', message }
  if (state === 'closed') {
    return {
      kind: 'closed',
      message: 'the upstream closed the connection before its response was complete',
    }
  }
  return { kind: 'closed', message }
}

/** Checks the name, because undici's parser errors have no code. */
function isUnreadable(error: Error, code: string): boolean {
  return error.name === 'HTTPParserError' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}
