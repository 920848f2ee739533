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
  if (fate === 'closed') {
    return { kind: 'closed', message: 'the app closed the connection before its answer was whole' }
  }
  return isConnectFailure(error, code)
    ? { kind: 'connect', message: connectMessage(error, code) }
    : { kind: 'closed', message }
}

function isConnectFailure(error: Error, code: string): boolean {
  const { syscall } = error as NodeJS.ErrnoException
  return (
    code === 'SQUALL_CONNECT' ||
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    error instanceof AggregateError ||
    /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|ECONNREFUSED)/.test(code)
  )
}

function connectMessage(error: Error, code: string): string {
  if (error instanceof AggregateError) {
    const first: unknown = error.errors[0]
    if (first instanceof Error) return first.message
  }
  return error.message === '' ? code : error.message
}
