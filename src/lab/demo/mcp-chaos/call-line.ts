import type { EndedCall } from '../../load/call-runner.ts'

/** The deadline in the events of mcp-chaos, in milliseconds. */
const DEADLINE_MS = 1000

/** Describes a call by the fields of the events of mcp-chaos, and by its run. */
export function callLine(
  { tool, task, retries, outcome }: EndedCall,
  run: Readonly<Record<string, string>>,
): object {
  const { latencyMs, responded, correct, success, response } = outcome
  return {
    tool,
    task_id: task,
    latency_ms: Math.round(latencyMs * 1000) / 1000,
    deadline_ms: DEADLINE_MS,
    responded,
    correct,
    success,
    retries,
    // As in mcp-chaos, the fault of the last attempt.
    injected: response.markers.length > 0 ? 'error_injection' : 'none',
    ...run,
  }
}
