import type { FlagSpec } from '../flags/flag-table.ts'

const PLACES = 'Where the sidecar is:'
const TIMES = 'Times:'
const BEHAVIOUR = 'Behaviour:'

/** The options of `squall pre-stop`. */
export const PRE_STOP_FLAGS = [
  {
    name: 'control',
    value: 'socket',
    group: PLACES,
    help: 'control socket of squall run: unix:/path.sock',
  },
  {
    name: 'stop-wait',
    value: 'duration',
    default: '20s',
    group: TIMES,
    help: 'how long to wait for the app to be gone; keep it below the termination grace period of the pod; 0s for not at all',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall pre-stop`. */
export type PreStopFlag = (typeof PRE_STOP_FLAGS)[number]['name']

/** The options of `squall wait-ready`. */
export const WAIT_READY_FLAGS = [
  {
    name: 'admin',
    value: 'address',
    default: '127.0.0.1:15390',
    group: PLACES,
    help: 'address of the admin port, as squall run has it',
  },
  {
    name: 'ready-wait',
    value: 'duration',
    default: '30s',
    group: TIMES,
    help: 'how long to wait',
  },
  {
    name: 'ready-with-app',
    group: BEHAVIOUR,
    help: 'wait for the app, too; where the app starts only after this, that would be for ever',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall wait-ready`. */
export type WaitReadyFlag = (typeof WAIT_READY_FLAGS)[number]['name']
