import type { Failure } from '../http/transfer.ts'
import type { SocketFate } from './undici-connection.ts'

/** Tells what happened to a transfer from undici's error and from what the socket itself reported. */
export function failureOf(error: Error, fate: SocketFate): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const { message } = error
  if (fate === 'reset') return { kind: 'reset', message: 'the app reset the connection' }
  if (fate === 'broken' && isUnreadable(error, code)) return { kind: 'protocol', message }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'protocol', message }
  if (code === 'UND_ERR_SOCKET' && message.startsWith('bad ')) return { kind: 'protocol', message }
  if (code === 'SQUALL_CONNECT') return { kind: 'connect', message }
  if (fate === 'closed') {
    return {
      kind: 'closed',
      message: 'the app closed the connection before its response was whole',
    }
  }
  return { kind: 'closed', message }
}

/** By name, since undici's parser errors have no code of their own. */
function isUnreadable(error: Error, code: string): boolean {
  return error.name === 'HTTPParserError' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}
