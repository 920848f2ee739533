import { defineCommand } from '../flags/command.ts'
import { WEBHOOK_FLAGS } from '../webhook/webhook-flags.ts'
import { parseWebhook } from '../webhook/webhook-options.ts'

/** `squall webhook`. */
export const WEBHOOK = defineCommand({
  name: 'webhook',
  description: 'put the sidecar into pods that ask for it: a mutating admission webhook',
  flags: WEBHOOK_FLAGS,
  note: `
Reviews are taken at POST /mutate with TLS; /livez, /readyz and /metrics are on --admin.`,
  parse: (raw, env) => parseWebhook(raw, env),
  start: async (request) => {
    const { webhookCommand } = await import('../webhook/webhook.ts')
    return webhookCommand(request)
  },
})
