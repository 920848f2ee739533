import { defineCommand } from '../flags/command.ts'
import { INJECT_FLAGS, UNINJECT_FLAGS } from '../inject/inject-flags.ts'
import { parseInject, parseUninject } from '../inject/inject-options.ts'

/** `squall inject`. */
export const INJECT = defineCommand({
  name: 'inject',
  description: 'put the sidecar into the pods of manifests that ask for it, as the webhook does',
  flags: INJECT_FLAGS,
  note: `
The result is written to standard output, and what was done to standard error. Namespaces and
Services in the input count, so that targetPorts can be checked. Where a pod is refused nothing is
written, and the exit code is 1.
Example: squall inject -f deployment.yaml --kubernetes-version 1.33 | kubectl apply -f -`,
  parse: (raw, env) => parseInject(raw, env),
  start: async (request) => {
    const { injectCommand } = await import('../inject/inject.ts')
    return injectCommand(request)
  },
})

/** `squall uninject`. */
export const UNINJECT = defineCommand({
  name: 'uninject',
  description: 'take the sidecar out of manifests again, which leaves them as they were before',
  flags: UNINJECT_FLAGS,
  parse: (raw, env) => parseUninject(raw, env),
  start: async (request) => {
    const { uninjectCommand } = await import('../inject/uninject.ts')
    return uninjectCommand(request)
  },
})
