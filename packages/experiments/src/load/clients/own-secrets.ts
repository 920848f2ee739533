import { REDACTED } from '#sidecar'
import type { LoadTarget } from '../load-options.ts'
import type { CallResponse } from './load-client.ts'

/** Shorter values are words of any message. */
const LEAST = 4

/**
 * Returns a function that hides the values of the headers and of the query in the message of a
 * response, because servers repeat them in errors.
 */
export function secretHider({ url, headers }: Pick<LoadTarget, 'url' | 'headers'>) {
  const values = [...Object.values(headers), url.search.slice(1), ...url.searchParams.values()]
  const secrets = values
    .flatMap((value) => [value, value.slice(value.lastIndexOf(' ') + 1)])
    .filter(({ length }) => length >= LEAST)
    // A token is a part of its header.
    .sort((a, b) => b.length - a.length)
  return <Response extends CallResponse>(response: Response): Response => {
    if (response.message === undefined) return response
    const message = secrets.reduce(
      (left, each) => left.replaceAll(each, REDACTED),
      response.message,
    )
    return { ...response, message }
  }
}
