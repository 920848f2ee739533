import { PRE_STOP_PATH } from '../../admin/control-paths.ts'
import { askLocal } from '../ask-local.ts'
import { parseControl } from '../flags/address.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseDuration } from '../flags/units.ts'

const WAIT = { min: 0, max: 3_600_000 }

const FLAGS = [
  ...flagGroup('The sidecar:', {
    control: ['socket', 'control socket of squall run: unix:/path.sock'],
  }),
  ...flagGroup('Times:', {
    'stop-wait': [
      'duration',
      'how long to wait until the app has ended; keep it below the termination grace period of the pod; 0s for no wait',
      { default: '20s' },
    ],
  }),
]

export const PRE_STOP = defineCommand({
  name: 'pre-stop',
  examples: [
    'pre-stop --control unix:/run/squall/control.sock',
    'pre-stop --control unix:/run/squall/control.sock --stop-wait 10s',
  ],
  page: 'docs/concepts/redirect.md',
  description:
    'notify squall run that its pod ends: it disarms at once, and serves until the app has ended',
  flags: FLAGS,
  note: `
For the preStop hook of the sidecar's container. It returns when the app has ended or the time has
passed; only then does Kubernetes stop the sidecar.`,
  parse: parsePreStop,
  start: preStopCommand,
})

type PreStopRequest = ReturnType<typeof parsePreStop>

export function parsePreStop(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(FLAGS, raw, env)
  return {
    socketPath: parseControl(flags.required('control')),
    waitMs: parseDuration(flags.required('stop-wait'), WAIT),
  }
}

// The response comes after the wait.
const GRACE_MS = 5_000

/** Notifies the sidecar that its pod ends; returns the exit code. */
export async function preStopCommand({ socketPath, waitMs }: PreStopRequest): Promise<number> {
  const path = `${PRE_STOP_PATH}?wait=${waitMs}`
  try {
    const address = { kind: 'unix', path: socketPath } as const
    const { status, text } = await askLocal(address, 'POST', path, waitMs + GRACE_MS)
    if (status !== 200) throw new Error(`it responded ${status}`)
    process.stdout.write(text)
    return 0
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `no squall run at ${socketPath}: ${reason}; use the same --control (or SQUALL_CONTROL) for both`,
      { cause: error },
    )
  }
}
