import {
  adminToAsk,
  asGiven,
  asText,
  count,
  duration,
  type FlagInput,
  group,
  invalidValue,
  type Kind,
  one,
  operation,
  type RequestOf,
} from '#cli'
import { needed, PORT_FLAG, rejectAdmin } from './redirect.ts'

const PORTS = 'Redirected ports:'

/** Declares the time for which an attached sidecar redirects traffic. */
export function attachedFor(help: string): Kind<number> {
  return duration(help, { min: 1_000, max: 24 * 3_600_000 }, '15m')
}

export const ATTACHED = operation({
  name: 'attached',
  examples: ['attached --port 3000=15300', 'attached --port 3000=15300 --for 15m'],
  page: 'docs/guides/attach.md',
  description:
    'run the sidecar beside your running MCP server and redirect traffic to it, for a limited time',
  flags: {
    ...PORT_FLAG,
    ...group(PORTS, {
      admin: one('address', 'admin port of squall run', asGiven<FlagInput>, {
        default: '[::]:15390',
      }),
    }),
    ...group('The rules:', {
      rulesText: one('text', 'text of the rules file', asText),
    }),
    ...group('Timeouts:', {
      for: attachedFor('time after which the container detaches'),
      startBefore: one(
        'time',
        'start deadline, such as 2026-05-01T10:00:00Z; if it has passed, the command does nothing',
        timeOf,
      ),
    }),
    ...group(PORTS, {
      nft: one('program', 'name or path of nft', asText, { default: 'nft' }),
      user: count(
        'UID that runs squall run, without capabilities',
        { min: 1, max: 2 ** 32 - 2 },
        '65532',
      ),
    }),
  },
  note: '\nThe container that squall attach adds to a pod runs this command. It requires user 0 and the capabilities NET_ADMIN, SETUID, SETGID and KILL, and reads the options of squall run from the environment.',
  parse: ({ port, admin, rulesText = 'rules: []\n', ...flags }) => {
    const redirects = needed(port)
    rejectAdmin(admin, redirects)
    return {
      redirects,
      admin: { text: admin.text, ask: adminToAsk(admin) },
      rulesText,
      forMs: flags.for,
      startBefore: flags.startBefore,
      nft: flags.nft,
      user: flags.user,
    }
  },
})

export type AttachedRequest = RequestOf<typeof ATTACHED>

function timeOf({ text, source }: FlagInput): number {
  const time = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw invalidValue({ text, source }, 'is not a time', 'write a time such as 2026-05-01T10:00:00Z')
}
