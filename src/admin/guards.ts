import type { IncomingHttpHeaders } from 'node:http'
import { CLIENT_HEADER, isTrustedHost, TOKEN_HEADER } from '../http/trusted-host.ts'
import { type AdminResponse, rejection } from './admin-response.ts'
import { basicPassword, bearerToken, tokenCheck } from './admin-token.ts'

/** Returns the rejection of a request; undefined when the request is allowed. */
export type Guard = (headers: IncomingHttpHeaders) => AdminResponse | undefined

/** Access rules for reading the admin port. */
export interface ReadAccess {
  /** The token that reading needs; without one, anyone who reaches the port may read. */
  readonly readToken?: string | undefined
  /** Names of this port beside those that no web page can have. */
  readonly hosts?: readonly string[] | undefined
  /** Names the step that allows another host name. */
  readonly hostFix?: string
}

const NO_TOKEN = 'changes require an admin token: set SQUALL_ADMIN_TOKEN or --admin-token-file'
const FOREIGN = 'requests from pages of another origin are rejected'
const INVALID_HOST = 'this host name is not allowed: use the IP address, or'
const ADD_HOST = 'add the name to --admin-hosts (SQUALL_ADMIN_HOSTS)'
const NO_READ_TOKEN =
  'the read token is required: send it as "authorization: Bearer …", or as the password of any user'
const CHANGE_CHALLENGE = { 'www-authenticate': 'Bearer realm="squall admin"' }
const READ_CHALLENGE = { 'www-authenticate': 'Basic realm="squall admin", charset="UTF-8"' }

/** Rejects changes without the token, and from pages of another origin. */
export function changeGuard(token: string | undefined): Guard {
  const holdsToken = token === undefined ? undefined : tokenCheck(token)
  return (headers) => {
    if (isForeign(headers)) return rejection(403, { error: FOREIGN })
    if (holdsToken === undefined) return rejection(403, { error: NO_TOKEN })
    if (holdsToken(bearerToken(headers.authorization))) return undefined
    const error =
      headers.authorization === undefined
        ? 'the admin token is required: send it as "authorization: Bearer …"'
        : 'wrong admin token'
    return rejection(401, { error }, CHANGE_CHALLENGE)
  }
}

/** Rejects requests of pages of another origin. */
export function originGuard(): Guard {
  return (headers) => (isForeign(headers) ? rejection(403, { error: FOREIGN }) : undefined)
}

/** Browsers send the origin of the page that a request comes from; other clients send none. */
function isForeign({ origin, host }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return false
  // A TLS proxy in front of this port changes the scheme but not the host.
  const own = (host ?? '').toLowerCase()
  return own === '' || (origin !== `http://${own}` && origin !== `https://${own}`)
}

/**
 * Rejects web pages that reach this port by DNS rebinding, and, where there is a read token,
 * everybody without a token. The admin token allows reading, too.
 */
export function readGuard(
  { readToken, hosts = [], hostFix = ADD_HOST }: ReadAccess,
  token?: string,
): Guard {
  const checks = [readToken, token].filter((each) => each !== undefined).map(tokenCheck)
  return (headers) => {
    const given = tokensIn(headers)
    // A web page cannot have a token, whatever its host name.
    if (given.some((each) => checks.some((isToken) => isToken(each)))) return undefined
    if (headers[CLIENT_HEADER] === undefined && !isTrustedHost(headers.host, hosts)) {
      return rejection(403, { error: `${INVALID_HOST} ${hostFix}` })
    }
    if (readToken === undefined) return undefined
    const error = given.length === 0 ? NO_READ_TOKEN : 'wrong read token'
    return rejection(401, { error }, READ_CHALLENGE)
  }
}

/** Returns the tokens of a request; API servers remove `authorization` from what they pass on. */
function tokensIn({ authorization, ...headers }: IncomingHttpHeaders): readonly string[] {
  const own = headers[TOKEN_HEADER]
  return [
    bearerToken(authorization),
    basicPassword(authorization),
    bearerToken(typeof own === 'string' ? own : undefined),
  ].filter((token) => token !== undefined)
}
