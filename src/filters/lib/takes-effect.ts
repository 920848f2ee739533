import type { FaultContext } from '../fault.ts'

/**
 * Reports that the fault takes effect. Returns false when it may no longer act; the caller then
 * passes the data on unchanged.
 */
export function takesEffect(ctx: FaultContext): boolean {
  try {
    ctx.injected()
    return true
  } catch {
    return false
  }
}
