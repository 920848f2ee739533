import { headerValues } from '../../http/headers.ts'
import { digest } from '../../base/digest.ts'
import type { FaultContext } from '../fault.ts'
import type { NotApplicableReason } from './not-applicable.ts'

/** The callers to whom a kept response may be replayed: the same caller only, or all. */
export type SharedBy = 'caller' | 'all'

/** Calls that may get each other's responses have the same key; or why none may. */
export type Audience =
  | { readonly key: string; readonly cannot?: undefined }
  | { readonly cannot: NotApplicableReason; readonly key?: undefined }

/**
 * Returns who else may get the response to a call. What the server says about keeping it holds, as
 * for any cache: `no-store` and `Vary: *` keep it from everybody, `private` from other callers, and
 * the headers that `Vary` names distinguish callers. The key is a digest: it gives no secret away.
 */
export function audience(ctx: FaultContext, by: SharedBy, about: readonly unknown[]): Audience {
  const lines = ctx.response?.headers ?? []
  const directives = listed(headerValues(lines, 'cache-control'))
  const vary = listed(headerValues(lines, 'vary'))
  if (directives.includes('no-store') || vary.includes('*')) return { cannot: 'not_kept' }
  const isPrivate = directives.some((each) => each === 'private' || each.startsWith('private='))
  let caller: string | undefined
  if (by === 'caller' || isPrivate) {
    caller = ctx.caller
    if (caller === undefined) return { cannot: 'no_caller' }
  }
  const varied = vary.toSorted().map((name) => [name, ctx.headers(name)])
  return { key: digest(JSON.stringify([about, caller ?? null, varied])) }
}

function listed(values: readonly string[]): string[] {
  return values.flatMap((value) => value.split(',')).map((each) => each.trim().toLowerCase())
}
