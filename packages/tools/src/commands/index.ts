import { type Command, command } from '#cli'
import { AGENTS } from './agents.ts'
import { TAP } from './tap.ts'
import { TOP } from './top.ts'

export const COMMANDS: readonly Command[] = [
  TOP,
  TAP,
  command(AGENTS, () => import('../agents/agents.ts'), 'agentsCommand'),
]
