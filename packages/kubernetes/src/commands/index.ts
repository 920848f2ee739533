import type { Command } from '#cli'
import { APPLY } from './apply.ts'
import { ATTACH } from './attach.ts'
import { ATTACHED } from './attached.ts'
import { INJECT } from './inject.ts'
import { REDIRECT } from './redirect.ts'
import { STATUS } from './status.ts'
import { RESUME, STOP } from './stop.ts'
import { WEBHOOK } from './webhook.ts'

export const COMMANDS: readonly Command[] = [
  STOP,
  RESUME,
  APPLY,
  STATUS,
  ATTACH,
  INJECT,
  WEBHOOK,
  REDIRECT,
  ATTACHED,
]
