import type { FlagSpec } from '../flags/flag-table.ts'

const PORTS = 'What is taken over:'
const TIMES = 'Times:'
const RULES = 'The rules:'

/** The options of `squall attached`. */
export const ATTACHED_FLAGS = [
  {
    name: 'port',
    value: 'app=squall',
    repeatable: true,
    group: PORTS,
    help: 'port of the app, and port of the listener that takes its traffic, such as 3000=15300; repeat it for more',
  },
  {
    name: 'admin',
    value: 'address',
    default: '[::]:15390',
    group: PORTS,
    help: 'address of the admin port of squall run',
  },
  {
    name: 'rules-text',
    value: 'text',
    group: RULES,
    help: 'the rules themselves, as they stand in a rules file',
  },
  {
    name: 'for',
    value: 'duration',
    default: '15m',
    group: TIMES,
    help: 'how long traffic is taken over; the container detaches by itself then',
  },
  {
    name: 'start-before',
    value: 'time',
    group: TIMES,
    help: 'begin before this time or not at all, such as 2026-05-01T10:00:00Z',
  },
  {
    name: 'nft',
    value: 'program',
    default: 'nft',
    group: PORTS,
    help: 'name or path of the program nft',
  },
  {
    name: 'user',
    value: 'uid',
    default: '65532',
    group: PORTS,
    help: 'user that squall run has; it has no capability',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall attached`. */
export type AttachedFlag = (typeof ATTACHED_FLAGS)[number]['name']
