import { quoted } from '../../base/text/foreign-text.ts'
import type { Redirect, RedirectPlan } from '../../cluster/redirect/ruleset.ts'
import { parseListen } from '../flags/address.ts'
import { defineCommand } from '../flags/command.ts'
import {
  flagGroup,
  type Environment,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { parsePort } from '../flags/host.ts'
import { parseCount } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'

const FLAGS = [
  ...flagGroup('What is taken over:', {
    port: [
      'app=squall',
      'port of the app, and port of the listener that takes its traffic, such as 3000=15300; repeat it for more',
      { repeatable: true },
    ],
    admin: [
      'address',
      'address of the admin port, as squall run has it: its port is never redirected',
      { default: '127.0.0.1:15390' },
    ],
    'exempt-uid': [
      'uid',
      'what this user sends to loopback reaches the app itself: the user of squall run, where the app listens on loopback alone',
    ],
  }),
  ...flagGroup('How:', {
    undo: 'take all rules away again',
    release:
      'end what squall attach began: new connections go to the app, those that are open go on',
    'dry-run': 'print the rules, and change nothing',
    nft: ['program', 'name or path of the program nft', { default: 'nft' }],
  }),
]

export const REDIRECT = defineCommand({
  name: 'redirect',
  description: "send the traffic for the app's ports to squall run, by rules of nftables",
  flags: FLAGS,
  note: `
Needs Linux, the program nft, and the capability NET_ADMIN. Rules are set for IPv4 and IPv6 at once,
and replace those of an earlier run. In a pod it runs before the app starts, in an init container.`,
  parse: parseRedirect,
  start: startRedirect,
})

interface RedirectRequest {
  /** The ports to take over, or how to give them back. */
  readonly plan: RedirectPlan | 'undo' | 'release'
  readonly dryRun: boolean
  readonly nft: string
}

const MAX_PORTS = 64
// The highest number stands for 'no user'.
const UID = { min: 0, max: 2 ** 32 - 2 }

export function parseRedirect(raw: RawFlags, env: Environment): RedirectRequest {
  const flags = new FlagValues(FLAGS, raw, env)
  const nft = flags.required('nft')
  if (nft.text === '' || nft.text.startsWith('-') || nft.text.includes('\u0000')) {
    throw bad(nft.source, `${quoted(nft.text)} is no program`, 'give the name or path of nft')
  }
  const giveBack = flags.switch('undo') ? 'undo' : flags.switch('release') ? 'release' : undefined
  // The other options are checked in both cases: an init container has the same arguments for both.
  const redirects = redirectsOf(flags.all('port'))
  if (redirects === undefined && giveBack === undefined) {
    throw new UsageError('MISSING_VALUE', '--port is missing', 'add it, such as --port 3000=15300')
  }
  refuseAdmin(flags.required('admin'), redirects ?? [])
  const exemptUid = flags.parsed('exempt-uid', (given) => parseCount(given, UID))
  return {
    plan: giveBack ?? { redirects: redirects!, exemptUid },
    dryRun: flags.switch('dry-run'),
    nft: nft.text,
  }
}

/** Takes traffic over, or gives it back; returns the exit code. */
async function startRedirect({ plan, dryRun, nft }: RedirectRequest): Promise<number> {
  const { releaseRuleset, ruleset, undoRuleset } = await import('../../cluster/redirect/ruleset.ts')
  const rules =
    plan === 'undo' ? undoRuleset() : plan === 'release' ? releaseRuleset() : ruleset(plan)
  if (dryRun) {
    process.stdout.write(rules)
    return 0
  }
  const { applyRules } = await import('../../cluster/redirect/nft.ts')
  await applyRules(rules, nft)
  process.stdout.write(
    typeof plan === 'string'
      ? 'nothing is redirected any more\n'
      : `redirecting ${plan.redirects.map(({ from, to }) => `${from} to ${to}`).join(', ')}\n`,
  )
  return 0
}

/** Checks ports that are taken over; undefined where none is given. Throws a `UsageError`. */
export function redirectsOf(given: readonly Given[]): RedirectPlan['redirects'] | undefined {
  const [first] = given
  if (first === undefined) return undefined
  if (given.length > MAX_PORTS) {
    throw bad(first.source, `it is given ${given.length} times`, `use at most ${MAX_PORTS}`)
  }
  const redirects: Redirect[] = []
  for (const one of given) {
    const redirect = redirectOf(one)
    refuseClash(redirect, redirects, one)
    redirects.push(redirect)
  }
  return redirects as [Redirect, ...Redirect[]]
}

function redirectOf({ text, source }: Given): Redirect {
  const [from, to, ...more] = text.split('=').map((part) => parsePort(part))
  if (from === undefined || to === undefined || more.length > 0 || from === 0 || to === 0) {
    throw bad(source, `${quoted(text)} is no redirect`, 'write two ports, such as 3000=15300')
  }
  if (from === to) {
    throw bad(
      source,
      `${quoted(text)} leads nowhere else`,
      'use the port that squall run listens on',
    )
  }
  return { from, to }
}

function refuseClash({ from, to }: Redirect, others: readonly Redirect[], given: Given): void {
  const { text, source } = given
  if (others.some((other) => other.from === from)) {
    throw bad(source, `port ${from} is redirected twice`, 'leave one of them out')
  }
  // A listener sends to one upstream.
  if (others.some((other) => other.to === to)) {
    throw bad(source, `port ${to} takes two ports`, 'use one listener for each port of the app')
  }
  if (others.some((other) => other.to === from || other.from === to)) {
    const wrong = `${quoted(text)} redirects to or from a port that another redirect uses`
    throw bad(source, wrong, 'use listeners whose ports are not redirected themselves')
  }
}

/** Refuses to redirect from or to the admin port. Throws a `UsageError`. */
export function refuseAdmin(given: Given, redirects: readonly Redirect[]): void {
  if (given.text === 'off') return
  const address = parseListen(given)
  if (address.kind === 'unix') return
  const clash = redirects.find(({ from, to }) => from === address.port || to === address.port)
  if (clash === undefined) return
  throw bad(
    given.source,
    `${address.port} is the admin port, which must answer unfaulted`,
    `leave --port ${clash.from}=${clash.to} out, or give --admin the address that squall run has`,
  )
}

function bad(source: string, wrong: string, fix: string): UsageError {
  return new UsageError('BAD_VALUE', `${source}: ${wrong}`, fix)
}
