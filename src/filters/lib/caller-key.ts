import { digest } from '../../base/digest.ts'
import type { FaultContext } from '../fault.ts'

/** Selects the key by which calls are counted. */
export type CallerKind = 'all' | 'session' | 'client' | 'tool' | { readonly header: string }

/**
 * Returns what tells a call's caller from others. Those that do not say who they are count as one. It
 * is a digest: callers choose the text, which may be long or a secret, and many are remembered.
 */
export function callerKey(by: CallerKind, ctx: FaultContext): string {
  const text = textOf(by, ctx)
  return text === undefined ? '' : digest(text)
}

function textOf(by: CallerKind, ctx: FaultContext): string | undefined {
  if (typeof by === 'object') return ctx.header(by.header.toLowerCase())
  if (by === 'session') return ctx.session
  if (by === 'client') return ctx.client?.name
  return by === 'tool' && ctx.call !== undefined
    ? `${ctx.call.method} ${ctx.call.name ?? ''}`
    : undefined
}
