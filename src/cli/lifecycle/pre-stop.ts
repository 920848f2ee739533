import { PRE_STOP_PATH } from '../../admin/control-paths.ts'
import { askLocal } from './ask-local.ts'
import type { PreStopRequest } from './lifecycle-options.ts'

// Longer than the wait itself, so that the response is not missed.
const GRACE_MS = 5_000

/** Tells the sidecar that its pod ends; the result is the exit code. */
export async function preStopCommand({ socketPath, waitMs }: PreStopRequest): Promise<number> {
  const path = `${PRE_STOP_PATH}?wait=${waitMs}`
  try {
    const { status, text } = await askLocal(
      { kind: 'unix', path: socketPath },
      { method: 'POST', path, timeoutMs: waitMs + GRACE_MS },
    )
    if (status !== 200) throw new Error(`it answered ${status}`)
    process.stdout.write(text)
    return 0
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `no squall run at ${socketPath}: ${reason}; give it the same --control (or SQUALL_CONTROL)`,
      { cause: error },
    )
  }
}
