import type { Command } from '../command.ts'
import { DEMO } from './demo.ts'
import { EXPLAIN, SCHEMA, VALIDATE } from './rules.ts'
import { RUN } from './run.ts'

/** The commands of the program, in the order in which its help lists them. */
export const COMMANDS: readonly Command[] = [RUN, DEMO, VALIDATE, SCHEMA, EXPLAIN]
