import { REDACTED } from '#sidecar'
import type { LoadTarget } from '../load-options.ts'
import type { CallResponse } from './load-client.ts'

/** Shorter values are words of any message. */
const LEAST = 4

/** Returns a function that hides own headers and query in an error, where servers repeat them. */
export function secretHider({ url, headers }: Pick<LoadTarget, 'url' | 'headers'>) {
  const values = [...Object.values(headers), url.search.slice(1), ...url.searchParams.values()]
  // A token is a part of its header.
  const parts = values.flatMap((value) => [value, value.slice(value.lastIndexOf(' ') + 1)])
  const secrets = parts.filter((each) => each.length >= LEAST).sort((a, b) => b.length - a.length)
  return <Response extends CallResponse>(response: Response): Response => {
    if (response.message === undefined) return response
    const message = secrets.reduce(
      (left, each) => left.replaceAll(each, REDACTED),
      response.message,
    )
    return { ...response, message }
  }
}
