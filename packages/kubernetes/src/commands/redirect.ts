import type { Redirect, RedirectPlan } from '../redirect/ruleset.ts'
import {
  asGiven,
  atMost,
  count,
  defineCommand,
  type FlagInput,
  group,
  invalidCombination,
  invalidOption,
  invalidValue,
  many,
  missing,
  one,
  operation,
  parseListen,
  type RequestOf,
  toggle,
} from '#cli'
import { parsePort } from '#protocol'
import {
  type ApiServer,
  apiServerOf,
  captureText,
  IDS,
  parseCaptures,
  parseUids,
  rejectListeners,
  apiServerAddresses,
  UNREDIRECTED,
} from '../cli/outbound.ts'

const MAX_PORTS = 64
const NO_PORT = 'add it, such as --port 3000=15300'

/** Declares the option for redirected ports. */
export const PORT_FLAG = group('Redirected ports:', {
  port: many(
    'server=listener',
    'port of your MCP server, and port of the listener for its traffic, such as 3000=15300; repeatable',
    parseRedirects,
  ),
})

const OPERATION = operation({
  name: 'redirect',
  examples: [
    'redirect --port 3000=15300',
    'redirect --port 3000=15300 --dry-run',
    'redirect --outbound 5432=15301 --outbound 10.0.0.0/8:6379=15302 --dry-run',
  ],
  page: 'docs/concepts/redirect.md',
  description:
    'redirect the ports of your MCP server, and outgoing connections, to squall run, with nftables',
  flags: {
    ...PORT_FLAG,
    ...group('Redirected ports:', {
      admin: one(
        'address',
        'admin port of squall run, which is never redirected',
        asGiven<FlagInput>,
        { default: '127.0.0.1:15390' },
      ),
      exemptUid: count(
        "user of squall run, if your MCP server listens only on loopback; this user's loopback traffic is not redirected",
        IDS,
      ),
    }),
    ...group('Outgoing connections:', {
      outbound: many(
        'port=squall',
        'destination port to capture, and port of the listener for its connections, such as 5432=15301, or 10.0.0.0/8:5432=15301 for some addresses; repeatable',
        parseCaptures,
      ),
      outboundUid: many('number', 'capture only connections of this UID; repeatable', parseUids),
      exemptGid: count('GID of squall run, whose connections are not captured', IDS, '15390'),
    }),
    ...group('Mode:', {
      undo: toggle('remove all rules of squall redirect'),
      release: toggle(
        'remove the redirect of squall attach; new connections go to your MCP server, open connections continue',
      ),
      dryRun: toggle('print the rules without applying them'),
      nft: one('program', 'name or path of nft', parseProgram, { default: 'nft' }),
    }),
  },
  note: '\nThe command requires Linux, the program nft, and the capability NET_ADMIN. The rules apply to IPv4 and IPv6, and replace the rules of an earlier run. In a pod, run the command in an init container, before your MCP server starts. Connections to loopback, to metadata addresses (169.254.0.0/16, fe80::/10, fd00:ec2::254) and to the API server of the pod are not captured, unless --outbound names that address.',
  parse: (flags, { env }) => {
    const { port, admin, exemptUid, outbound, outboundUid: uids, exemptGid, ...rest } = flags
    const { undo, release, dryRun, nft } = rest
    const giveBack = undo ? ('undo' as const) : release ? ('release' as const) : undefined
    // Options are checked with --undo as well: an init container has the same arguments for both.
    rejectAdmin(admin, port)
    const captured = outbound.map(({ port: from, to }) => ({ from, to }))
    rejectAdmin(admin, captured, '--outbound')
    rejectListeners(outbound, port)
    if (uids.length > 0 && outbound.length === 0) {
      throw invalidCombination('--outbound-uid requires --outbound', 'add --outbound')
    }
    const apiServer = apiServerOf(env)
    const captures = { captures: outbound, uids, exemptGid, apiServer: [] }
    const plan =
      giveBack ??
      (outbound.length === 0
        ? { redirects: needed(port), exemptUid }
        : { redirects: port, exemptUid, outbound: captures })
    return { plan, apiServer, dryRun, nft }
  },
})

export const REDIRECT = defineCommand({ ...OPERATION, start: startRedirect })

export type RedirectRequest = RequestOf<typeof OPERATION>

/** Returns the redirects. Throws a `UsageError` without any. */
export function needed(redirects: readonly Redirect[]): readonly Redirect[] {
  if (redirects.length > 0) return redirects
  throw missing('--port is missing', NO_PORT)
}

function parseProgram(given: FlagInput): string {
  const { text } = given
  if (text !== '' && !text.startsWith('-') && !text.includes('\u0000')) return text
  throw invalidValue(given, 'is not a program', 'write the name or path of nft')
}

/** Sets or removes the redirects; returns the exit code. */
async function startRedirect({ plan, apiServer, dryRun, nft }: RedirectRequest): Promise<number> {
  const { releaseRuleset, ruleset, undoRuleset } = await import('../redirect/ruleset.ts')
  const rules =
    plan === 'undo'
      ? undoRuleset()
      : plan === 'release'
        ? releaseRuleset()
        : ruleset(await withApiServer(plan, apiServer))
  if (dryRun) {
    process.stdout.write(rules)
    return 0
  }
  const { applyRules } = await import('../redirect/nft.ts')
  await applyRules(rules, nft)
  process.stdout.write(
    typeof plan === 'string' ? 'the redirect is removed\n' : `redirecting ${planText(plan)}\n`,
  )
  return 0
}

async function withApiServer(
  plan: RedirectPlan,
  server: ApiServer | undefined,
): Promise<RedirectPlan> {
  const { outbound } = plan
  if (outbound === undefined) return plan
  return {
    ...plan,
    outbound: { ...outbound, apiServer: await apiServerAddresses(server, outbound.captures) },
  }
}

function planText({ redirects, outbound }: RedirectPlan): string {
  const captures = outbound?.captures ?? []
  return [
    ...redirects.map(({ from, to }) => `${from} to ${to}`),
    ...captures.map((each) => `outbound ${captureText(each)}`),
  ].join(', ')
}

function parseRedirects(given: readonly FlagInput[]): readonly Redirect[] {
  atMost(MAX_PORTS, given)
  const redirects: Redirect[] = []
  for (const each of given) {
    const redirect = redirectOf(each)
    rejectClash(redirect, redirects, each)
    redirects.push(redirect)
  }
  return redirects
}

function redirectOf(given: FlagInput): Redirect {
  const [from, to, ...more] = given.text.split('=').map((part) => parsePort(part))
  if (!from || !to || more.length > 0) {
    throw invalidValue(given, 'is not a valid redirect', 'use two ports, such as 3000=15300')
  }
  if (from !== to) return { from, to }
  throw invalidValue(given, 'redirects a port to itself', 'use the port of squall run')
}

function rejectClash({ from, to }: Redirect, others: readonly Redirect[], given: FlagInput): void {
  const { source } = given
  if (others.some((other) => other.from === from)) {
    throw invalidOption(source, `duplicate port ${from}`, 'remove one of them')
  }
  // A listener sends to one upstream.
  if (others.some((other) => other.to === to)) {
    const fix = 'use one listener for each port of your MCP server'
    throw invalidOption(source, `the listener port ${to} is used for two captured ports`, fix)
  }
  if (others.some((other) => other.to === from || other.from === to)) {
    throw invalidValue(given, 'uses a port of another redirect', UNREDIRECTED)
  }
}

/** Rejects to redirect from or to the admin port. Throws a `UsageError`. */
export function rejectAdmin(
  given: FlagInput,
  redirects: readonly Redirect[],
  option = '--port',
): void {
  if (given.text === 'off') return
  const address = parseListen(given)
  if (address.kind === 'unix') return
  const clash = redirects.find(({ from, to }) => from === address.port || to === address.port)
  if (clash === undefined) return
  throw invalidOption(
    given.source,
    `${address.port} is the admin port, which is never redirected`,
    `remove ${option} ${clash.from}=${clash.to}, or set --admin as for squall run`,
  )
}
