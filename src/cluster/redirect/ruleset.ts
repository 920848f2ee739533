/** Traffic to one port of the app, and the listener that takes it instead. */
export interface Redirect {
  readonly from: number
  readonly to: number
}

/** The ports that are taken over. */
export interface RedirectPlan {
  readonly redirects: readonly [Redirect, ...Redirect[]]
  /** Traffic of this user to loopback reaches the app itself. */
  readonly exemptUid: number | undefined
  /**
   * The kernel forgets the redirect by itself unless `refreshRuleset` comes at least this often, in
   * seconds, and connections that are open already stay with the app. Undefined for a redirect that
   * lasts.
   */
  readonly heldSeconds?: number | undefined
}

// Named before it is deleted, so that the same text works whether it was there or not.
const GONE = 'table inet squall\ndelete table inet squall\n'

/** The ports whose redirect is in effect, each for some seconds. */
const HELD = 'inet squall held'
/** Is there as long as nobody has released the redirect. */
const OWNED = 'inet squall owned'
const SETS =
  '  set held { type inet_service; flags timeout; }\n  set owned { type inet_service; }\n'

/**
 * The rules for `nft -f -`, which applies all of them or none. They replace what was there, so that
 * twice is as good as once.
 */
export function ruleset({ redirects, exemptUid, heldSeconds }: RedirectPlan): string {
  const isHeld = heldSeconds !== undefined
  // The first packet decides about a connection; one that is open sends no such packet any more.
  const held = isHeld ? 'tcp dport @held tcp flags & (fin | syn | rst | ack) == syn ' : ''
  // Traffic from outside, by any of the pod's addresses. The sidecar's own connections to
  // such an address go by `lo`, which is why they do not come back to it.
  const incoming = redirects.map(
    ({ from, to }) => `iifname != "lo" tcp dport ${from} ${held}counter redirect to :${to}`,
  )
  // Traffic to loopback within the pod, as a port-forward makes it.
  const others = exemptUid === undefined ? '' : `meta skuid != ${exemptUid} `
  const local = redirects.flatMap(({ from, to }) => [
    `${others}ip daddr 127.0.0.0/8 tcp dport ${from} ${held}counter redirect to :${to}`,
    `${others}ip6 daddr ::1 tcp dport ${from} ${held}counter redirect to :${to}`,
  ])
  const chains = [
    chain('prerouting', 'type nat hook prerouting priority dstnat; policy accept;', incoming),
    chain('output', 'type nat hook output priority -100; policy accept;', local),
  ]
  const sets = isHeld ? SETS : ''
  const refresh = isHeld ? refreshRuleset(redirects, heldSeconds) : ''
  return `${GONE}table inet squall {\n${sets}${chains.join('')}}\n${refresh}`
}

/** Keeps a held redirect for so many seconds more. Fails where somebody has released it. */
export function refreshRuleset(redirects: readonly Redirect[], seconds: number): string {
  const ports = redirects.map(({ from }) => `${from} timeout ${seconds}s`)
  const lines = [
    `flush set ${OWNED}`,
    `flush set ${HELD}`,
    `add element ${HELD} { ${ports.join(', ')} }`,
  ]
  return `${lines.join('\n')}\n`
}

/**
 * Leads new connections to the app again. Those that were redirected go on where they are: the kernel
 * translates their addresses as long as there is a rule that could, so that the rules stay.
 */
export function releaseRuleset(): string {
  return `table inet squall {\n${SETS}}\nflush set ${HELD}\ndelete set ${OWNED}\n`
}

/** Takes every rule away; nothing happens where there is none. */
export function undoRuleset(): string {
  return GONE
}

function chain(name: string, head: string, rules: readonly string[]): string {
  const lines = [head, ...rules].map((line) => `    ${line}\n`)
  return `  chain ${name} {\n${lines.join('')}  }\n`
}
