import type { FaultContext } from './fault.ts'

/** Longer texts are shortened: callers choose them, and many of them are remembered. */
const MAX_KEY = 256

/** Who or what calls are counted by. */
export type CallerKind = 'all' | 'session' | 'client' | 'tool' | { readonly header: string }

/** What tells a call's caller from others. Those that do not say who they are count as one. */
export function callerKey(by: CallerKind, ctx: FaultContext): string {
  return shortened(textOf(by, ctx) ?? '')
}

function textOf(by: CallerKind, ctx: FaultContext): string | undefined {
  if (typeof by === 'object') return ctx.header(by.header.toLowerCase())
  if (by === 'session') return ctx.session
  if (by === 'client') return ctx.client?.name
  return by === 'tool' && ctx.call !== undefined
    ? `${ctx.call.method} ${ctx.call.name ?? ''}`
    : undefined
}

/** Both ends are kept: tokens often begin alike. */
function shortened(text: string): string {
  if (text.length <= MAX_KEY) return text
  const half = MAX_KEY / 2
  return `${text.length} ${text.slice(0, half)} ${text.slice(-half)}`
}
