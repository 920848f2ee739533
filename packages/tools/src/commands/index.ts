import type { Command } from '#cli'
import { TAP } from './tap.ts'
import { TOP } from './top.ts'
import { WATCH } from './watch.ts'

export const COMMANDS: readonly Command[] = [TOP, TAP, WATCH]
