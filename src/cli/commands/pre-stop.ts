import { PRE_STOP_PATH } from '../../admin/control-paths.ts'
import { askLocal } from '../ask-local.ts'
import { parseControl } from '../flags/address.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseDuration } from '../flags/units.ts'

const WAIT = { min: 0, max: 3_600_000 }

const FLAGS = [
  ...flagGroup('Where the sidecar is:', {
    control: ['socket', 'control socket of squall run: unix:/path.sock'],
  }),
  ...flagGroup('Times:', {
    'stop-wait': [
      'duration',
      'how long to wait for the app to be gone; keep it below the termination grace period of the pod; 0s for not at all',
      { default: '20s' },
    ],
  }),
]

export const PRE_STOP = defineCommand({
  name: 'pre-stop',
  description:
    'tell squall run that its pod ends: it disarms at once, and serves until the app is gone',
  flags: FLAGS,
  note: `
For the preStop hook of the sidecar's container. It returns when the app is gone or the time is over;
only then does Kubernetes stop the sidecar.`,
  parse: parsePreStop,
  start: preStopCommand,
})

interface PreStopRequest {
  readonly socketPath: string
  readonly waitMs: number
}

export function parsePreStop(raw: RawFlags, env: Environment): PreStopRequest {
  const flags = new FlagValues(FLAGS, raw, env)
  return {
    socketPath: parseControl(flags.required('control')),
    waitMs: parseDuration(flags.required('stop-wait'), WAIT),
  }
}

// Longer than the wait itself, so that the response is not missed.
const GRACE_MS = 5_000

/** Notifies the sidecar that its pod ends; returns the exit code. */
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
