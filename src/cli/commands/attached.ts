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
import { badValue, UsageError } from '../flags/usage-error.ts'

const PORTS = 'What is taken over:'

const ATTACHED_FLAGS = [
  ...flagGroup(PORTS, {
    port: [
      'app=squall',
      'port of the app, and port of the listener that takes its traffic, such as 3000=15300; repeat it for more',
      { repeatable: true },
    ],
    admin: ['address', 'address of the admin port of squall run', { default: '[::]:15390' }],
  }),
  ...flagGroup('The rules:', {
    'rules-text': ['text', 'the rules themselves, as they stand in a rules file'],
  }),
  ...flagGroup('Times:', {
    for: [
      'duration',
      'how long traffic is taken over; the container detaches by itself then',
      { default: '15m' },
    ],
    'start-before': ['time', 'begin before this time or not at all, such as 2026-05-01T10:00:00Z'],
  }),
  ...flagGroup(PORTS, {
    nft: ['program', 'name or path of the program nft', { default: 'nft' }],
    user: ['uid', 'user that squall run has; it has no capability', { default: '65532' }],
  }),
]

export const ATTACHED = defineCommand({
  name: 'attached',
  description: 'run the sidecar beside a running app and redirect traffic to it, for a while',
  flags: ATTACHED_FLAGS,
  note: `
For the container that squall attach puts into a pod. Needs user 0 and the capabilities NET_ADMIN,
SETUID, SETGID and KILL. Options of squall run are taken from the environment.`,
  parse: parseAttached,
  start: async (request) => (await import('../attach/attached.ts')).attachedCommand(request),
})

export type AttachedRequest = ReturnType<typeof parseAttached>

/** The time for which an attached sidecar may take over traffic, in milliseconds. */
export const ATTACHED_FOR = { min: 1_000, max: 24 * 3_600_000 }
const UID = { min: 1, max: 2 ** 32 - 2 }

function parseAttached(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(ATTACHED_FLAGS, raw, env)
  const redirects = redirectsOf(flags.all('port'))
  if (redirects === undefined) {
    throw new UsageError('MISSING_VALUE', '--port is missing', 'add it, such as --port 3000=15300')
  }
  const admin = flags.required('admin')
  refuseAdmin(admin, redirects)
  return {
    redirects,
    /** The address on which the admin port listens, and the one to ask from within. */
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
  throw badValue({ text, source }, 'is no time', 'write it as in 2026-05-01T10:00:00Z')
}
