import { PRE_STOP_PATH } from '../../admin/control-paths.ts'
import { askLocal } from '../ask-local.ts'
import { parseControl } from '../../sidecar/flags/address.ts'
import { defineCommand, operation, type RequestOf } from '../flags/command.ts'
import { group } from '../../base/flags/flag.ts'
import { duration, one } from '../../base/flags/kinds.ts'

const OPERATION = operation({
  name: 'pre-stop',
  examples: [
    'pre-stop --control unix:/run/squall/control.sock',
    'pre-stop --control unix:/run/squall/control.sock --stop-wait 10s',
  ],
  page: 'docs/concepts/redirect.md',
  description:
    'notify squall run that its pod is terminating, so that it disarms all rules at once; wait until the upstream exits, while squall run keeps serving',
  flags: {
    ...group('The sidecar:', {
      control: one('socket', 'control socket of squall run: unix:/path.sock', parseControl, {
        required: 'add it',
      }),
    }),
    ...group('Timeouts:', {
      stopWait: duration(
        "how long to wait for the upstream to exit; keep this below the pod's termination grace period; 0s means no wait",
        { min: 0, max: 3_600_000 },
        '20s',
      ),
    }),
  },
  note: `
Run this command in the preStop hook of the sidecar container. It returns once the upstream has exited,
or after --stop-wait; with outgoing routes only, after --stop-wait. Kubernetes then stops the sidecar.`,
  parse: ({ control: socketPath, stopWait: waitMs }) => ({ socketPath, waitMs }),
})

export const PRE_STOP = defineCommand({ ...OPERATION, start: preStopCommand })

// The response comes after the wait.
const GRACE_MS = 5_000

/** Notifies the sidecar that its pod ends; returns the exit code. */
export async function preStopCommand({
  socketPath,
  waitMs,
}: RequestOf<typeof OPERATION>): Promise<number> {
  const path = `${PRE_STOP_PATH}?wait=${waitMs}`
  try {
    const address = { kind: 'unix', path: socketPath } as const
    const { status, text } = await askLocal(address, 'POST', path, waitMs + GRACE_MS)
    if (status !== 200) throw new Error(`it responded with status ${status}`)
    process.stdout.write(text)
    return 0
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `no squall run at ${socketPath}: ${reason}; set the same --control (or SQUALL_CONTROL) for both commands`,
      { cause: error },
    )
  }
}
