/** Traffic to one port of the app, and the listener that takes it instead. */
export interface Redirect {
  readonly from: number
  readonly to: number
}

/** What is taken over. */
export interface RedirectPlan {
  readonly redirects: readonly [Redirect, ...Redirect[]]
  /** What this user sends to loopback reaches the app itself. */
  readonly exemptUid: number | undefined
}

// Named before it is deleted, so that the same text works whether it was there or not.
const GONE = 'table inet squall\ndelete table inet squall\n'

/**
 * The rules for `nft -f -`, which applies all of them or none. They replace what was there, so that
 * twice is as good as once.
 */
export function ruleset({ redirects, exemptUid }: RedirectPlan): string {
  // What comes from outside, by whichever of the pod's addresses. The sidecar's own connections to
  // such an address go by `lo`, which is why they do not come back to it.
  const incoming = redirects.map(
    ({ from, to }) => `iifname != "lo" tcp dport ${from} counter redirect to :${to}`,
  )
  // What is sent to loopback within the pod: the way of a port-forward.
  const others = exemptUid === undefined ? '' : `meta skuid != ${exemptUid} `
  const local = redirects.flatMap(({ from, to }) => [
    `${others}ip daddr 127.0.0.0/8 tcp dport ${from} counter redirect to :${to}`,
    `${others}ip6 daddr ::1 tcp dport ${from} counter redirect to :${to}`,
  ])
  const chains = [
    chain('prerouting', 'type nat hook prerouting priority dstnat; policy accept;', incoming),
    chain('output', 'type nat hook output priority -100; policy accept;', local),
  ]
  return `${GONE}table inet squall {\n${chains.join('')}}\n`
}

/** Takes every rule away; nothing happens where there is none. */
export function undoRuleset(): string {
  return GONE
}

function chain(name: string, head: string, rules: readonly string[]): string {
  const lines = [head, ...rules].map((line) => `    ${line}\n`)
  return `  chain ${name} {\n${lines.join('')}  }\n`
}
