import { type AddressRange, isWithin, parseCidr } from '#protocol'

/** Leads connections to a port of other machines to a listener. */
export interface Capture {
  /** The only addresses whose connections are captured; undefined for all. */
  readonly network: AddressRange | undefined
  readonly port: number
  readonly to: number
}

/** An address that is not captured unless a capture names it. */
export interface Excluded {
  readonly network: AddressRange
  /** Undefined for all ports. */
  readonly port: number | undefined
}

export interface OutboundPlan {
  readonly captures: readonly Capture[]
  /** The only users whose connections are captured; empty for all. */
  readonly uids: readonly number[]
  /** Connections of this group reach their destination: those of the listener itself. */
  readonly exemptGid: number
  readonly apiServer: readonly Excluded[]
}

/** Link-local addresses, which have the metadata of clouds, and the IPv6 address of metadata. */
const METADATA: readonly Excluded[] = networks('169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254').map(
  (network) => ({ network, port: undefined }),
)
const ZONE = 15_390
const WITHOUT_ROUTE = networks('127.0.0.0/8', '::1', 'fe80::/10', '::ffff:0:0/96')

/** Returns true for addresses whose connections cannot be led to a listener. */
export function isUncapturable(network: AddressRange): boolean {
  return WITHOUT_ROUTE.some((each) => isWithin(network, each))
}

/**
 * Returns the rules that capture connections, by chain. `dnat` leads them to the pod's own address, because
 * responses from loopback have no route, and `snat` writes the original destination into the source
 * address, where the listener reads it.
 */
export function outboundRules({ captures, uids, exemptGid, apiServer }: OutboundPlan) {
  const excluded = [...METADATA, ...apiServer]
  const named = captures.filter((capture) => excluded.some((each) => names(capture, each)))
  const others = captures.filter((capture) => !named.includes(capture))
  const listeners = [...new Set(captures.map(({ to }) => to))]
  const ports = [...new Set(captures.map(({ port }) => port))]
  return {
    // The kernel remembers a connection that was reset for some seconds, with its translation. In a
    // zone of its own, a connection of the listener from the same port is not mistaken for it.
    raw: [`meta skgid ${exemptGid} tcp dport { ${ports.join(', ')} } ct original zone set ${ZONE}`],
    output: [
      // Loopback and the pod's own addresses.
      'oifname "lo" return',
      // By group, because the user may be that of the upstream.
      `meta skgid ${exemptGid} return`,
      ...(uids.length === 0 ? [] : [`meta skuid != { ${uids.join(', ')} } return`]),
      ...named.flatMap(captureRules),
      ...excluded.map(({ network, port }) => `${destination(network, port)} return`),
      ...others.flatMap(captureRules),
    ],
    postrouting: listeners.flatMap((to) => [
      `oifname "lo" meta nfproto ipv4 tcp dport ${to} ct status dnat counter snat ip to ct original ip daddr`,
      `oifname "lo" meta nfproto ipv6 tcp dport ${to} ct status dnat counter snat ip6 to ct original ip6 daddr`,
    ]),
    input: [`tcp dport { ${listeners.join(', ')} } ct direction original jump captured`],
    // Without this, anyone could use the listener as a relay.
    captured: ['iifname "lo" ct status dnat accept', 'counter reject with tcp reset'],
  }
}

function names({ network, port }: Capture, excluded: Excluded): boolean {
  return (
    network !== undefined &&
    isWithin(network, excluded.network) &&
    (excluded.port === undefined || excluded.port === port)
  )
}

function captureRules({ network, port, to }: Capture): readonly string[] {
  const families = network === undefined ? (['ipv4', 'ipv6'] as const) : [network.family]
  return families.map((family) => {
    const ip = family === 'ipv4' ? 'ip' : 'ip6'
    const match =
      network === undefined
        ? `meta nfproto ${family} tcp dport ${port}`
        : destination(network, port)
    return `${match} counter dnat ${ip} to ${ip} saddr:${to}`
  })
}

function destination({ family, text }: AddressRange, port: number | undefined): string {
  const address = `${family === 'ipv4' ? 'ip' : 'ip6'} daddr ${text}`
  return port === undefined ? address : `${address} tcp dport ${port}`
}

function networks(...texts: readonly string[]): readonly AddressRange[] {
  return texts.flatMap((text) => parseCidr(text) ?? [])
}
