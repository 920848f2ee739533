import { defineCommand } from '../command.ts'
import { APPLY_FLAGS } from '../kube/apply-flags.ts'
import { parseApply } from '../kube/apply-options.ts'
import { STATUS_FLAGS } from '../kube/status-flags.ts'
import { parseStatus } from '../kube/status-options.ts'

/** `squall apply`. */
export const APPLY = defineCommand({
  name: 'apply',
  description: 'bring a rules file to the sidecars of a namespace, and wait until each has it',
  flags: APPLY_FLAGS,
  note: `
The file is checked first. With the credentials of your kubeconfig it is written into a ConfigMap;
pods are touched so that kubelet brings it at once.`,
  parse: (raw, env) => parseApply(raw, env),
  start: async (request) => {
    const { applyCommand } = await import('../kube/apply.ts')
    return applyCommand(request)
  },
})

/** `squall status`. */
export const STATUS = defineCommand({
  name: 'status',
  description: 'say which pods have a sidecar, whether it is armed, and which rules never hit',
  flags: STATUS_FLAGS,
  parse: (raw, env) => parseStatus(raw, env),
  start: async (request) => {
    const { statusCommand } = await import('../kube/status.ts')
    return statusCommand(request)
  },
})
