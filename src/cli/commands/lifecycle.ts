import { defineCommand } from '../flags/command.ts'
import { PRE_STOP_FLAGS, WAIT_READY_FLAGS } from '../lifecycle/lifecycle-flags.ts'
import { parsePreStop, parseWaitReady } from '../lifecycle/lifecycle-options.ts'

/** `squall pre-stop`. */
export const PRE_STOP = defineCommand({
  name: 'pre-stop',
  description:
    'tell squall run that its pod ends: it disarms at once, and serves until the app is gone',
  flags: PRE_STOP_FLAGS,
  note: `
For the preStop hook of the sidecar's container. It returns when the app is gone or the time is over;
only then is the sidecar told to stop.`,
  parse: (raw, env) => parsePreStop(raw, env),
  start: async (request) => {
    const { preStopCommand } = await import('../lifecycle/pre-stop.ts')
    return preStopCommand(request)
  },
})

/** `squall wait-ready`. */
export const WAIT_READY = defineCommand({
  name: 'wait-ready',
  description: 'wait until squall run takes traffic',
  flags: WAIT_READY_FLAGS,
  note: `
For the postStart hook of the sidecar's container, and for health checks of an image.`,
  parse: (raw, env) => parseWaitReady(raw, env),
  start: async (request) => {
    const { waitReadyCommand } = await import('../lifecycle/wait-ready.ts')
    return waitReadyCommand(request)
  },
})
