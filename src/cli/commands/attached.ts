import {
  type FlagSpec,
  type Environment,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { defineCommand } from '../flags/command.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { adminToAsk } from '../flags/address.ts'
import { redirectsOf, refuseAdmin } from './redirect.ts'
import { parseCount, parseDuration } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'

const PORTS = 'What is taken over:'
const TIMES = 'Times:'
const RULES = 'The rules:'

const ATTACHED_FLAGS = [
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

export const ATTACHED = defineCommand({
  name: 'attached',
  description: 'run the sidecar beside a running app and redirect traffic to it, for a while',
  flags: ATTACHED_FLAGS,
  note: `
For the container that squall attach puts into a pod. Needs user 0 and the capabilities NET_ADMIN,
SETUID, SETGID and KILL. Options of squall run are taken from the environment.`,
  parse: parseAttached,
  start: async (request) => {
    const { attachedCommand } = await import('../attach/attached.ts')
    return attachedCommand(request)
  },
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
  throw new UsageError(
    'BAD_VALUE',
    `${source}: ${quoted(text)} is no time`,
    'write it as in 2026-05-01T10:00:00Z',
  )
}
