import type { IncomingHttpHeaders } from 'node:http'
import { CLIENT_HEADER, isTrustedHost, TOKEN_HEADER } from '../http/trusted-host.ts'
import { basicPassword, bearerToken, tokenCheck } from './admin-token.ts'
import type { ChangeProblem } from './change-problem.ts'

/** Says why a request may not read; undefined when it may. */
export type ReadGuard = (headers: IncomingHttpHeaders) => ChangeProblem | undefined

/** Access rules for reading the admin port. */
export interface ReadAccess {
  /** The token that reading needs; without one, anyone who reaches the port may read. */
  readonly readToken?: string | undefined
  /** Names of this port beside those that no web page can have. */
  readonly hosts?: readonly string[] | undefined
}

const BAD_HOST =
  'not by this name: ask by address, or start with --admin-hosts (SQUALL_ADMIN_HOSTS) and the name'
const NO_TOKEN =
  'reading needs the read token: authorization: Bearer …, or as the password of any user'
const BAD_TOKEN = 'not the read token'
const CHALLENGE = { 'www-authenticate': 'Basic realm="squall admin", charset="UTF-8"' }

/**
 * Keeps web pages out that reach this port by DNS rebinding, and where there is a read token
 * everybody without it. Who may change things may read, too.
 */
export function readGuard({ readToken, hosts = [] }: ReadAccess, token?: string): ReadGuard {
  const checks = [readToken, token].filter((each) => each !== undefined).map(tokenCheck)
  return (headers) => {
    const given = tokensIn(headers)
    // No page knows a token, whatever its name.
    if (given.some((each) => checks.some((isToken) => isToken(each)))) return undefined
    if (headers[CLIENT_HEADER] === undefined && !isTrustedHost(headers.host, hosts)) {
      return { status: 403, error: BAD_HOST }
    }
    if (readToken === undefined) return undefined
    const error = given.length === 0 ? NO_TOKEN : BAD_TOKEN
    return { status: 401, error, headers: CHALLENGE }
  }
}

/** The tokens that a request carries; API servers take `authorization` out of what they pass on. */
function tokensIn({ authorization, ...headers }: IncomingHttpHeaders): readonly string[] {
  const own = headers[TOKEN_HEADER]
  return [
    bearerToken(authorization),
    basicPassword(authorization),
    bearerToken(typeof own === 'string' ? own : undefined),
  ].filter((token) => token !== undefined)
}
