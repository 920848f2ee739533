import type { FlagSpec } from '../flags/flag-table.ts'

const PORTS = 'What is taken over:'
const WORK = 'How:'

/** The options of `squall redirect`. */
export const REDIRECT_FLAGS = [
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
    default: '127.0.0.1:15390',
    group: PORTS,
    help: 'address of the admin port, as squall run has it: its port is never redirected',
  },
  {
    name: 'exempt-uid',
    value: 'uid',
    group: PORTS,
    help: 'what this user sends to loopback reaches the app itself: the user of squall run, where the app listens on loopback alone',
  },
  { name: 'undo', group: WORK, help: 'take all rules away again' },
  {
    name: 'release',
    group: WORK,
    help: 'end what squall attach began: new connections go to the app, those that are open go on',
  },
  { name: 'dry-run', group: WORK, help: 'print the rules, and change nothing' },
  {
    name: 'nft',
    value: 'program',
    default: 'nft',
    group: WORK,
    help: 'name or path of the program nft',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall redirect`. */
export type RedirectFlag = (typeof REDIRECT_FLAGS)[number]['name']
