import type { FaultContext } from '../fault.ts'

/**
 * Says that the fault takes effect; false when it may not any more, and what it would change is to
 * pass.
 */
export function takesEffect(ctx: FaultContext): boolean {
  try {
    ctx.injected()
    return true
  } catch {
    return false
  }
}
