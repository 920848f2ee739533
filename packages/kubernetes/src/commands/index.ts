import type { Command } from '#cli'
import { APPLY } from './apply.ts'
import { ATTACH, DETACH } from './attach.ts'
import { ATTACHED } from './attached.ts'
import { INJECT, UNINJECT } from './inject.ts'
import { REDIRECT } from './redirect.ts'
import { STATUS } from './status.ts'
import { RESUME, STOP } from './stop.ts'
import { WEBHOOK } from './webhook.ts'

export const COMMANDS: readonly Command[] = [
  APPLY,
  STATUS,
  ATTACH,
  DETACH,
  STOP,
  RESUME,
  INJECT,
  UNINJECT,
  WEBHOOK,
  REDIRECT,
  ATTACHED,
]
