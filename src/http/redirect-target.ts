import { headerValue, type RequestHead, type ResponseHead } from './headers.ts'

/** The target of a redirect that keeps the method and the body. */
export interface RedirectTarget {
  /** Path and query of the repeated request. */
  readonly target: string
  /** False when the redirect leads to another host, whose traffic may not pass Squall. */
  readonly sameHost: boolean
}

/** Returns the target of the repeated request; undefined when no client can follow. */
export function redirectTarget(
  request: RequestHead,
  response: ResponseHead,
): RedirectTarget | undefined {
  if (response.status !== 307 && response.status !== 308) return undefined
  const location = headerValue(response.headers, 'location')
  if (location === undefined) return undefined
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
