import { ATTACHED_FLAGS } from '../attach/attached-flags.ts'
import { parseAttached } from '../attach/attached-options.ts'
import { defineCommand } from '../flags/command.ts'

/** `squall attached`. */
export const ATTACHED = defineCommand({
  name: 'attached',
  description: 'run the sidecar beside a running app and redirect traffic to it, for a while',
  flags: ATTACHED_FLAGS,
  note: `
For the container that squall attach puts into a pod. Needs user 0 and the capabilities NET_ADMIN,
SETUID, SETGID and KILL. Options of squall run are taken from the environment.`,
  parse: (raw, env) => parseAttached(raw, env),
  start: async (request) => {
    const { attachedCommand } = await import('../attach/attached.ts')
    return attachedCommand(request)
  },
})
