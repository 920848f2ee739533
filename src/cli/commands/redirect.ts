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
import { badOption, missing } from '../flags/usage-error.ts'

const FLAGS = [
  ...flagGroup('Redirected ports:', {
    port: [
      'app=squall',
      'port of the app, and port of the listener for its traffic, such as 3000=15300; repeat it for more',
      { repeatable: true },
    ],
    admin: [
      'address',
      'address of the admin port of squall run, which is never redirected',
      { default: '127.0.0.1:15390' },
    ],
    'exempt-uid': [
      'uid',
      'user of squall run, where the app listens on loopback only: traffic of this user to loopback is not redirected',
    ],
  }),
  ...flagGroup('Mode:', {
    undo: 'remove all rules',
    release: 'end a redirect of squall attach: new connections go to the app, open ones continue',
    'dry-run': 'print the rules, and change nothing',
    nft: ['program', 'name or path of the program nft', { default: 'nft' }],
  }),
]

export const REDIRECT = defineCommand({
  name: 'redirect',
  examples: ['redirect --port 3000=15300', 'redirect --port 3000=15300 --dry-run'],
  page: 'docs/concepts/redirect.md',
  description: "redirect traffic for the app's ports to squall run, with nftables",
  flags: FLAGS,
  note: `
Needs Linux, the program nft, and the capability NET_ADMIN. The rules are for IPv4 and IPv6, and
replace those of an earlier run. In a pod it runs in an init container, before the app starts.`,
  parse: parseRedirect,
  start: startRedirect,
})

interface RedirectRequest {
  /** The ports to redirect, or the way to end redirects. */
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
    throw badOption(
      nft.source,
      `${quoted(nft.text)} is not a program`,
      'write the name or path of nft',
    )
  }
  const giveBack = flags.switch('undo') ? 'undo' : flags.switch('release') ? 'release' : undefined
  // Options are checked with --undo as well: an init container has the same arguments for both.
  const redirects = redirectsOf(flags.all('port'))
  if (redirects === undefined && giveBack === undefined) {
    throw missing('--port is missing', 'add it, such as --port 3000=15300')
  }
  refuseAdmin(flags.required('admin'), redirects ?? [])
  const exemptUid = flags.parsed('exempt-uid', (given) => parseCount(given, UID))
  return {
    plan: giveBack ?? { redirects: redirects!, exemptUid },
    dryRun: flags.switch('dry-run'),
    nft: nft.text,
  }
}

/** Sets or removes the redirects; returns the exit code. */
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

/** Parses redirected ports; undefined without any. Throws a `UsageError`. */
export function redirectsOf(given: readonly Given[]): RedirectPlan['redirects'] | undefined {
  const [first] = given
  if (first === undefined) return undefined
  if (given.length > MAX_PORTS) {
    throw badOption(first.source, `it is given ${given.length} times`, `use at most ${MAX_PORTS}`)
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
    throw badOption(
      source,
      `${quoted(text)} is not a redirect`,
      'write two ports, such as 3000=15300',
    )
  }
  if (from === to) {
    throw badOption(
      source,
      `${quoted(text)} redirects a port to itself`,
      'use the port of squall run',
    )
  }
  return { from, to }
}

function refuseClash({ from, to }: Redirect, others: readonly Redirect[], given: Given): void {
  const { text, source } = given
  if (others.some((other) => other.from === from)) {
    throw badOption(source, `port ${from} is redirected twice`, 'leave one of them out')
  }
  // A listener sends to one upstream.
  if (others.some((other) => other.to === to)) {
    throw badOption(
      source,
      `port ${to} receives two ports`,
      'use one listener for each port of the app',
    )
  }
  if (others.some((other) => other.to === from || other.from === to)) {
    const wrong = `${quoted(text)} has a port of another redirect`
    throw badOption(source, wrong, 'use listeners whose ports are not redirected themselves')
  }
}

/** Refuses to redirect from or to the admin port. Throws a `UsageError`. */
export function refuseAdmin(given: Given, redirects: readonly Redirect[]): void {
  if (given.text === 'off') return
  const address = parseListen(given)
  if (address.kind === 'unix') return
  const clash = redirects.find(({ from, to }) => from === address.port || to === address.port)
  if (clash === undefined) return
  throw badOption(
    given.source,
    `${address.port} is the admin port, which is never redirected`,
    `leave --port ${clash.from}=${clash.to} out, or set --admin as for squall run`,
  )
}
