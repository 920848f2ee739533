import { type OutboundPlan, outboundRules } from './outbound-rules.ts'

/** Leads traffic to one port of the upstream to a listener. */
export interface Redirect {
  readonly from: number
  readonly to: number
}

/** The ports that are taken over, and the outgoing connections that are captured. */
export interface RedirectPlan {
  readonly redirects: readonly Redirect[]
  /** Traffic of this user to loopback reaches the upstream itself. */
  readonly exemptUid: number | undefined
  readonly outbound?: OutboundPlan | undefined
  /**
   * The kernel drops the redirect unless `refreshRuleset` is applied at least this often, in
   * seconds; connections that are already open stay with the upstream. Undefined for a permanent
   * redirect.
   */
  readonly heldSeconds?: number | undefined
}

// Declares the table before it is deleted, so that the text also works without a table.
const DELETE_TABLE = 'table inet squall\ndelete table inet squall\n'

/** Names the set of ports whose redirect is active, each for some seconds. */
const HELD = 'inet squall held'
/** Names the set that exists until somebody releases the redirect. */
const OWNED = 'inet squall owned'
const SETS =
  '  set held { type inet_service; flags timeout; }\n  set owned { type inet_service; }\n'

/**
 * Returns the rules for `nft -f -`, which applies all of them or none. They replace earlier rules,
 * so that applying them twice does no harm.
 */
export function ruleset({ redirects, exemptUid, outbound, heldSeconds }: RedirectPlan): string {
  const isHeld = heldSeconds !== undefined
  // The first packet of a connection decides; an open connection sends no such packet any more.
  const held = isHeld ? 'tcp dport @held tcp flags & (fin | syn | rst | ack) == syn ' : ''
  // Traffic from outside, by any of the pod's addresses. Connections of the sidecar to such an
  // address go by `lo`, so that they do not return to the sidecar.
  const incoming = redirects.map(
    ({ from, to }) => `iifname != "lo" tcp dport ${from} ${held}counter redirect to :${to}`,
  )
  // Traffic to loopback within the pod, as a port-forward makes it.
  const others = exemptUid === undefined ? '' : `meta skuid != ${exemptUid} `
  const local = redirects.flatMap(({ from, to }) => [
    `${others}ip daddr 127.0.0.0/8 tcp dport ${from} ${held}counter redirect to :${to}`,
    `${others}ip6 daddr ::1 tcp dport ${from} ${held}counter redirect to :${to}`,
  ])
  const captured = outbound && outboundRules(outbound)
  const chains = [
    chain('raw', 'type filter hook output priority -300; policy accept;', captured?.raw),
    chain('prerouting', 'type nat hook prerouting priority dstnat; policy accept;', incoming),
    chain('output', 'type nat hook output priority -100; policy accept;', [
      ...local,
      ...(captured?.output ?? []),
    ]),
    chain(
      'postrouting',
      'type nat hook postrouting priority 100; policy accept;',
      captured?.postrouting,
    ),
    chain('captured', '', captured?.captured),
    chain('input', 'type filter hook input priority 0; policy accept;', captured?.input),
  ]
  const sets = isHeld ? SETS : ''
  const refresh = isHeld ? refreshRuleset(redirects, heldSeconds) : ''
  return `${DELETE_TABLE}table inet squall {\n${sets}${chains.join('')}}\n${refresh}`
}

/** Extends a held redirect by this many seconds. Fails where somebody has released it. */
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
 * Leads new connections to the upstream again. Redirected connections stay redirected: the kernel
 * translates their addresses as long as a matching rule exists, so the rules stay.
 */
export function releaseRuleset(): string {
  return `table inet squall {\n${SETS}}\nflush set ${HELD}\ndelete set ${OWNED}\n`
}

export function undoRuleset(): string {
  return DELETE_TABLE
}

function chain(name: string, head: string, rules: readonly string[] = []): string {
  if (rules.length === 0) return ''
  const lines = (head === '' ? rules : [head, ...rules]).map((line) => `    ${line}\n`)
  return `  chain ${name} {\n${lines.join('')}  }\n`
}
