import { headerValue, type RequestHead, type ResponseHead } from './headers.ts'

/** Where a response sends the client that is to repeat its request as it was. */
export interface RedirectTarget {
  /** Path and query of the repeated request. */
  readonly target: string
  /** False where the client is sent to another host, and may never be seen again. */
  readonly sameHost: boolean
}

/** True for the statuses by which a client repeats method and body elsewhere. */
export function keepsMethod(status: number): boolean {
  return status === 307 || status === 308
}

/** Returns where the repeated request goes; undefined where no client can follow. */
export function redirectTarget(
  request: RequestHead,
  response: ResponseHead,
): RedirectTarget | undefined {
  const location = headerValue(response.headers, 'location')
  if (!keepsMethod(response.status) || location === undefined) return undefined
  const host = headerValue(request.headers, 'host')
  const base = urlOf(request.target, `http://${host ?? ''}`) ?? urlOf(request.target, NO_HOST)
  const url = urlOf(location, base)
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  return { target: url.pathname + url.search, sameHost: url.host === base?.host }
}

const NO_HOST = 'http://localhost'

function urlOf(text: string, base: string | URL | undefined): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
