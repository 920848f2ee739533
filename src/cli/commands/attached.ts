import {
  flagGroup,
  type Environment,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { defineCommand } from '../flags/command.ts'
import { adminToAsk } from '../flags/address.ts'
import { redirectsOf, refuseAdmin } from './redirect.ts'
import { parseCount, parseDuration } from '../flags/units.ts'
import { badValue, missing } from '../flags/usage-error.ts'

const PORTS = 'Redirected ports:'

const ATTACHED_FLAGS = [
  ...flagGroup(PORTS, {
    port: [
      'app=squall',
      'port of the app, and port of the listener for its traffic, such as 3000=15300; repeat it for more',
      { repeatable: true },
    ],
    admin: ['address', 'address of the admin port of squall run', { default: '[::]:15390' }],
  }),
  ...flagGroup('The rules:', {
    'rules-text': ['text', 'the text of a rules file'],
  }),
  ...flagGroup('Times:', {
    for: ['duration', 'time after which the container detaches by itself', { default: '15m' }],
    'start-before': [
      'time',
      'time by which the command has to begin, or it does nothing, such as 2026-05-01T10:00:00Z',
    ],
  }),
  ...flagGroup(PORTS, {
    nft: ['program', 'name or path of the program nft', { default: 'nft' }],
    user: ['uid', 'user of squall run, which has no capabilities', { default: '65532' }],
  }),
]

export const ATTACHED = defineCommand({
  name: 'attached',
  examples: ['attached --port 3000=15300', 'attached --port 3000=15300 --for 15m'],
  page: 'docs/guides/attach.md',
  description:
    'run the sidecar beside a running app and redirect traffic to it, for a limited time',
  flags: ATTACHED_FLAGS,
  note: `
For the container that squall attach adds to a pod. Needs user 0 and the capabilities NET_ADMIN,
SETUID, SETGID and KILL. Options of squall run are taken from the environment.`,
  parse: parseAttached,
  start: async (request) => (await import('../attach/attached.ts')).attachedCommand(request),
})

export type AttachedRequest = ReturnType<typeof parseAttached>

/** Limits the time for which an attached sidecar redirects traffic, in milliseconds. */
export const ATTACHED_FOR = { min: 1_000, max: 24 * 3_600_000 }
const UID = { min: 1, max: 2 ** 32 - 2 }

function parseAttached(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(ATTACHED_FLAGS, raw, env)
  const redirects = redirectsOf(flags.all('port'))
  if (redirects === undefined) {
    throw missing('--port is missing', 'add it, such as --port 3000=15300')
  }
  const admin = flags.required('admin')
  refuseAdmin(admin, redirects)
  return {
    redirects,
    /** The address of the admin port: to listen on, and to connect to. */
    admin: { text: admin.text, ask: adminToAsk(admin) },
    rulesText: flags.optional('rules-text')?.text ?? 'rules: []\n',
    forMs: parseDuration(flags.required('for'), ATTACHED_FOR),
    /** Milliseconds since 1970; undefined for no limit. */
    startBefore: flags.parsed('start-before', timeOf),
    nft: flags.required('nft').text,
    user: parseCount(flags.required('user'), UID),
  }
}

function timeOf({ text, source }: Given): number {
  const time = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw badValue({ text, source }, 'is not a time', 'write a time such as 2026-05-01T10:00:00Z')
}
