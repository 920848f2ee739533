import { quoted } from '../../base/text/foreign-text.ts'
import type { Redirect, RedirectPlan } from '../../cluster/redirect/ruleset.ts'
import { parseListen } from '../flags/address.ts'
import { type Environment, FlagValues, type Given, type RawFlags } from '../flags/flag-values.ts'
import { parsePort } from '../flags/host.ts'
import { parseCount } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import { REDIRECT_FLAGS, type RedirectFlag } from './redirect-flags.ts'

/** What `squall redirect` was told, checked. */
export interface RedirectRequest {
  /** The ports to take over, or how to give them back. */
  readonly plan: RedirectPlan | 'undo' | 'release'
  readonly dryRun: boolean
  readonly nft: string
}

const MAX_PORTS = 64
// The highest number stands for 'no user'.
const UID = { min: 0, max: 2 ** 32 - 2 }

/** Checks what the command line and the environment say. Throws nothing but a `UsageError`. */
export function parseRedirect(raw: RawFlags, env: Environment): RedirectRequest {
  const flags = new FlagValues<RedirectFlag>(REDIRECT_FLAGS, raw, env)
  const nft = flags.required('nft')
  if (nft.text === '' || nft.text.startsWith('-') || nft.text.includes('\u0000')) {
    throw bad(nft.source, `${quoted(nft.text)} is no program`, 'give the name or path of nft')
  }
  const giveBack = flags.switch('undo') ? 'undo' : flags.switch('release') ? 'release' : undefined
  // What else is asked for is checked even then: an init container is written once for both.
  const redirects = redirectsOf(flags.all('port'))
  if (redirects === undefined && giveBack === undefined) {
    throw new UsageError('MISSING_VALUE', '--port is missing', 'add it, such as --port 3000=15300')
  }
  refuseAdmin(flags.required('admin'), redirects ?? [])
  const uid = flags.optional('exempt-uid')
  const exemptUid = uid && parseCount(uid.text, uid.source, UID)
  return {
    plan: giveBack ?? { redirects: redirects!, exemptUid },
    dryRun: flags.switch('dry-run'),
    nft: nft.text,
  }
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
export function refuseAdmin({ text, source }: Given, redirects: readonly Redirect[]): void {
  if (text === 'off') return
  const address = parseListen(text, source)
  if (address.kind === 'unix') return
  const hit = redirects.find(({ from, to }) => from === address.port || to === address.port)
  if (hit === undefined) return
  throw bad(
    source,
    `${address.port} is the admin port, which must answer unfaulted`,
    `leave --port ${hit.from}=${hit.to} out, or give --admin the address that squall run has`,
  )
}

function bad(source: string, wrong: string, mend: string): UsageError {
  return new UsageError('BAD_VALUE', `${source}: ${wrong}`, mend)
}
