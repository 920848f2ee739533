import type { IncomingHttpHeaders } from 'node:http'
import { bearerToken, tokenCheck } from './admin-token.ts'
import type { ChangeProblem } from './change-problem.ts'

/** Says why a request may not change anything; undefined when it may. */
export type ChangeGuard = (headers: IncomingHttpHeaders) => ChangeProblem | undefined

const NO_TOKEN = 'changes are off: no admin token is set (SQUALL_ADMIN_TOKEN or --admin-token-file)'

/** Lets nobody change anything who does not hold the token, nor a page of another origin. */
export function changeGuard(token: string | undefined): ChangeGuard {
  const holdsToken = token === undefined ? undefined : tokenCheck(token)
  return (headers) => {
    if (isForeign(headers)) return { status: 403, error: 'not from pages of another origin' }
    if (holdsToken === undefined) return { status: 403, error: NO_TOKEN }
    if (holdsToken(bearerToken(headers.authorization))) return undefined
    const error =
      headers.authorization === undefined
        ? 'needs the admin token: authorization: Bearer …'
        : 'not the admin token'
    return { status: 401, error, headers: { 'www-authenticate': 'Bearer realm="squall admin"' } }
  }
}

/** Browsers say where the page is from that a request comes from; other clients say nothing. */
function isForeign({ origin, host }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return false
  // A TLS proxy in front of this port changes the scheme but not the host.
  const own = (host ?? '').toLowerCase()
  return own === '' || (origin !== `http://${own}` && origin !== `https://${own}`)
}
