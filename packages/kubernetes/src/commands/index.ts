import { type Command, command } from '#cli'
import { APPLY } from './apply.ts'
import { ATTACH } from './attach.ts'
import { ATTACHED } from './attached.ts'
import { INJECT } from './inject.ts'
import { REDIRECT } from './redirect.ts'
import { STATUS } from './status.ts'
import { RESUME, STOP } from './stop.ts'
import { WEBHOOK } from './webhook.ts'

export const COMMANDS: readonly Command[] = [
  command(STOP, () => import('../cli/stop.ts'), 'stopAnywhere'),
  command(RESUME, () => import('../cli/stop.ts'), 'stopAnywhere'),
  command(APPLY, () => import('../cli/apply.ts'), 'applyInContexts'),
  command(STATUS, () => import('../cli/status.ts'), 'statusInContexts'),
  command(ATTACH, () => import('../cli/attach.ts'), 'attachCommand'),
  command(INJECT, () => import('../cli/inject.ts'), 'injectCommand'),
  command(WEBHOOK, () => import('../cli/webhook.ts'), 'webhookCommand'),
  REDIRECT,
  command(ATTACHED, () => import('../cli/attached.ts'), 'attachedCommand'),
]
