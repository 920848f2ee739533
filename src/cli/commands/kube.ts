import { defineCommand } from '../flags/command.ts'
import { APPLY_FLAGS } from '../kube/apply-flags.ts'
import { parseApply } from '../kube/apply-options.ts'
import { ATTACH_FLAGS, DETACH_FLAGS } from '../kube/attach-flags.ts'
import { parseAttach, parseDetach } from '../kube/attach-options.ts'
import { STATUS_FLAGS } from '../kube/status-flags.ts'
import { parseStatus } from '../kube/status-options.ts'
import { RESUME_FLAGS, STOP_FLAGS } from '../kube/stop-flags.ts'
import { parseResume, parseStop } from '../kube/stop-options.ts'

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
  description:
    'say which pods have a sidecar, whether it is armed, and which rules sampled no call',
  flags: STATUS_FLAGS,
  parse: (raw, env) => parseStatus(raw, env),
  start: async (request) => {
    const { statusCommand } = await import('../kube/status.ts')
    return statusCommand(request)
  },
})

/** `squall attach`. */
export const ATTACH = defineCommand({
  name: 'attach',
  description: 'put the sidecar into a running pod, for a while, without a restart',
  flags: ATTACH_FLAGS,
  operands: { form: '<pod>', most: 1 },
  note: `
An ephemeral container takes the port over and gives it back when its time is over, when it ends in
any way, or by squall detach. Connections that are open stay with the app.
Example: squall attach mcp-server-7d4b9c6f5-2xk8q -n shop -f rules.yaml --for 15m`,
  parse: (raw, env, operands) => parseAttach(raw, env, operands),
  start: async (request) => {
    const { attachCommand } = await import('../kube/attach.ts')
    return attachCommand(request)
  },
})

/** `squall detach`. */
export const DETACH = defineCommand({
  name: 'detach',
  description: 'end what squall attach began in a pod',
  flags: DETACH_FLAGS,
  operands: { form: '<pod>', most: 1 },
  parse: (raw, env, operands) => parseDetach(raw, env, operands),
  start: async (request) => {
    const { detachCommand } = await import('../kube/attach.ts')
    return detachCommand(request)
  },
})

/** `squall stop`. */
export const STOP = defineCommand({
  name: 'stop',
  description: 'end all faults of a namespace at once, also in later pods, until squall resume',
  flags: STOP_FLAGS,
  note: `
A stop key is written into the ConfigMaps that the sidecars read, with the credentials of your
kubeconfig. It outweighs all rules, header faults and the admin API. The rules stay as they are.`,
  parse: (raw, env) => parseStop(raw, env),
  start: async (request) => {
    const { stopCommand } = await import('../kube/stop.ts')
    return stopCommand(request)
  },
})

/** `squall resume`. */
export const RESUME = defineCommand({
  name: 'resume',
  description: 'let rules act again after squall stop',
  flags: RESUME_FLAGS,
  parse: (raw, env) => parseResume(raw, env),
  start: async (request) => {
    const { stopCommand } = await import('../kube/stop.ts')
    return stopCommand(request)
  },
})
