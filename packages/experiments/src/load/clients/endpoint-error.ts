import { oneLine } from '#base'
import { LoadError } from '../load-error.ts'
import type { CallResponse } from './load-client.ts'

/** Describes why the handshake failed, and how to fix the cause. */
export function endpointError({ kind, code, message = '' }: CallResponse): LoadError {
  const reason = oneLine(message, 120)
  switch (kind) {
    case 'refused':
      return new LoadError(
        'UNREACHABLE',
        `nothing responds at the target (${reason})`,
        'check host and port of --target, and that the server runs',
      )
    case 'timeout':
      return new LoadError(
        'UNREACHABLE',
        'the target does not respond to the handshake',
        'check that --target is the MCP endpoint, and that the server is not stuck',
      )
    case 'reset':
    case 'incomplete':
      return new LoadError(
        'UNREACHABLE',
        `the target closed the connection during the handshake (${reason})`,
        'check the scheme (http or https) and the port of --target',
      )
    case 'http':
      return statusError(code ?? 0, reason)
    case 'malformed':
      return new LoadError(
        'NOT_MCP',
        `the target does not speak MCP: ${reason}`,
        'give the URL of the MCP endpoint itself, such as http://localhost:3000/mcp',
      )
    case 'rpc':
    case 'tool':
    case 'breaker':
    case 'ok':
    default:
      return new LoadError(
        'HANDSHAKE_FAILED',
        `the server rejected the handshake (${code ?? 'no code'}: ${reason})`,
        'choose another protocol version with --protocol-version',
      )
  }
}

function statusError(status: number, reason: string): LoadError {
  if (status === 401 || status === 403) {
    return new LoadError(
      'NEEDS_AUTH',
      `the target requires authentication (status ${status})`,
      'give a token with --auth-token-file, or a header with --header',
    )
  }
  if (status === 404 || status === 405) {
    return new LoadError(
      'NOT_MCP',
      `there is no MCP endpoint at this path (status ${status})`,
      'give the whole URL with its path, such as http://localhost:3000/mcp',
    )
  }
  return new LoadError(
    'HANDSHAKE_FAILED',
    `the server responded to the handshake with status ${status}${reason === '' ? '' : `: ${reason}`}`,
    'check the log of the server; let no rule match `initialize`',
  )
}
