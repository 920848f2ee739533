import { REDACTED } from '#sidecar'
import type { LoadTarget } from '../load-options.ts'

/** Shorter values are words of any message, unless their name says that they are secret. */
const LEAST = 8
const SECRET = /auth|cookie|token|key|secret|passw|session|sig/i

/** Returns a function that hides own headers and query in a text, where servers repeat them. */
export function secretHider({ url, headers }: Pick<LoadTarget, 'url' | 'headers'>) {
  const query = url.search
    .slice(1)
    .split('&')
    .map((each) => each.split(/=(.*)/s, 2))
  const named = [...Object.entries(headers), ...url.searchParams, ...query]
  const secrets = named
    // A token is a part of its header.
    .flatMap(([name = '', value = '']) =>
      [value, value.slice(value.lastIndexOf(' ') + 1)].filter(
        ({ length }) => length >= (SECRET.test(name) ? LEAST / 2 : LEAST),
      ),
    )
    .sort((a, b) => b.length - a.length)
  return (text: string): string =>
    secrets.reduce((left, each) => left.replaceAll(each, REDACTED), text)
}
