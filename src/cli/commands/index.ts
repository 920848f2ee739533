import { type Command, command } from '../flags/command.ts'
import { EXPLAIN } from './explain.ts'
import { FAULT_ADD, FAULT_CLEAR, FAULT_LIST, FAULT_REMOVE } from './fault.ts'
import { PRE_STOP } from './pre-stop.ts'
import { RUN } from './run.ts'
import { STDIO } from './stdio.ts'
import { VALIDATE } from './validate.ts'
import { WAIT_READY } from './wait-ready.ts'

const FAULT = () => import('../fault/fault.ts')

/** The commands of the sidecar itself. */
export const COMMANDS: readonly Command[] = [
  RUN,
  STDIO,
  command(FAULT_ADD, FAULT, 'addFault'),
  command(FAULT_LIST, FAULT, 'listFaults'),
  command(FAULT_REMOVE, FAULT, 'removeFaults'),
  command(FAULT_CLEAR, FAULT, 'removeFaults'),
  VALIDATE,
  command(EXPLAIN, () => import('../rules/explain.ts'), 'explainCommand'),
  WAIT_READY,
  PRE_STOP,
]
