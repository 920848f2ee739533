import { type Command, command } from '#cli'
import { AGENTS } from './agents.ts'
import { TAP } from './tap.ts'
import { TOP } from './top.ts'

export const COMMANDS: readonly Command[] = [
  command(TOP, () => import('../top/top.ts'), 'top'),
  command(TAP, () => import('../tap/tap.ts'), 'tap'),
  command(AGENTS, () => import('../agents/agents.ts'), 'agentsCommand'),
]
