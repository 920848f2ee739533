import {
  ANY_HOST,
  type ListenAddress,
  parsePort,
  parseWrittenDestination,
  withoutHttp,
} from '../http/address.ts'
import type { TlsPaths } from '../listener/front/tls-files.ts'
import type { Pair } from '../listener/sidecar-options.ts'
import type { OutboundRoute, Target } from '../listener/outbound/target.ts'
import { quoted } from '../base/text/foreign-text.ts'
import type { UpstreamAddress } from '../upstream/address.ts'
import { parseListen, parseUpstream } from './flags/address.ts'
import { type FlagInput, group, type Values } from '../base/flags/flag.ts'
import { asGiven, many, one, pathTo } from '../base/flags/kinds.ts'
import { invalidCombination, invalidOption } from '../base/flags/usage-error.ts'

const ROUTE_FORM =
  'write an address to listen on and the dependency, such as 127.0.0.1:15432=db:5432 or 127.0.0.1:15400=https://api.example.com'
const TARGET_FORM =
  'write host:port, a range such as 10.0.0.0/8:5432, *:5432, or http://host:port to read HTTP'
const CAPTURED_FORM = 'write the port to listen on and the dependency, such as 15301=db:5432'
const MAX_ROUTES = 64

/** Declares the options of `squall run` about traffic of the pod to its dependencies. */
export const OUTBOUND_FLAGS = group('Outbound:', {
  outbound: many(
    'listen=target',
    'forward connections to a dependency: 127.0.0.1:15432=db:5432 for TCP, 127.0.0.1:15400=https://api.example.com for HTTP and MCP with rules for calls; repeatable',
    asGiven<readonly FlagInput[]>,
  ),
  captured: many(
    'port=target',
    'forward connections that squall redirect --outbound redirects to this port; the target is host:port, range:port or *:port, or http://host:port for plain HTTP and MCP with rules for calls; repeatable',
    asGiven<readonly FlagInput[]>,
  ),
  outboundCa: one(
    'file',
    'PEM file with the CA certificates for https:// dependencies, instead of the public CAs',
    asGiven<FlagInput>,
  ),
})

type OutboundValues = Values<typeof OUTBOUND_FLAGS>

/** The routes to dependencies: through the HTTP pipeline, and for TCP connections. */
export interface Outbound {
  readonly pairs: readonly Pair[]
  readonly routes: readonly OutboundRoute[]
}

/** Returns the routes to dependencies. Throws a `UsageError`. */
export function outboundOf({ outbound, captured }: OutboundValues): Outbound {
  const [first] = [...outbound, ...captured]
  if (first !== undefined && outbound.length + captured.length > MAX_ROUTES) {
    throw invalidOption(first.source, 'too many dependencies', `use at most ${MAX_ROUTES}`)
  }
  const pairs: Pair[] = []
  const routes: OutboundRoute[] = []
  for (const given of outbound) {
    const [at, target] = split(given, ROUTE_FORM)
    const listen = parseListen({ text: at, source: given.source })
    if (/^https?:/i.test(target)) {
      const upstream = parseUpstream({ text: target, source: given.source })
      pairs.push({ listen, upstream, isOutbound: true })
    } else routes.push({ listen, targets: [hostTarget(target, given)], isCaptured: false })
  }
  return { pairs, routes: [...routes, ...capturedRoutes(captured)] }
}

function capturedRoutes(captured: readonly FlagInput[]): readonly OutboundRoute[] {
  const targets = new Map<number, [Target, ...Target[]]>()
  for (const given of captured) {
    const [at, text] = split(given, CAPTURED_FORM)
    const port = parsePort(at)
    if (port === undefined) {
      throw invalidOption(given.source, `invalid port ${quoted(at)}`, CAPTURED_FORM)
    }
    const target = targetOf(text, given)
    const others = targets.get(port)
    if (others === undefined) targets.set(port, [target])
    else {
      if (others[0].port !== target.port) {
        const wrong = `port ${port} receives connections to the ports ${others[0].port} and ${target.port}`
        throw invalidCombination(`${given.source}: ${wrong}`, 'use one listener for each port')
      }
      if (others.some(({ text: other }) => withoutHttp(other) === withoutHttp(target.text))) {
        throw invalidOption(given.source, `duplicate target ${quoted(target.text)}`, 'remove one')
      }
      others.push(target)
    }
  }
  return [...targets].map(([port, all]) => ({
    listen: { kind: 'tcp', host: '::', port },
    targets: all,
    isCaptured: true,
  }))
}

function split({ text, source }: FlagInput, form: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)]
  throw invalidOption(source, `${quoted(text)} must specify a listener and a target`, form)
}

/** Parses a target with exactly one host. */
function hostTarget(text: string, given: FlagInput): Target {
  const target = targetOf(text, given)
  if (target.host !== ANY_HOST && !target.host.includes('/')) return target
  throw invalidOption(given.source, `${quoted(text)} must be a single host`, ROUTE_FORM)
}

function targetOf(text: string, { source }: FlagInput): Target {
  const found = parseWrittenDestination(text)
  if (found === undefined) {
    throw invalidOption(source, `invalid dependency ${quoted(text)}`, TARGET_FORM)
  }
  const { host, port, network: range, isHttp } = found
  return { text, host, port, range, ...(isHttp && { isHttp }) }
}

/** An address that Squall listens on or connects to, with the option that it comes from. */
export interface Named<Address> {
  readonly address: Address
  readonly source: string
}

/** Returns the listeners of routes with their names in messages. */
export function boundBy({ pairs, routes }: Outbound): readonly Named<ListenAddress>[] {
  return [
    ...pairs.map(({ listen }) => ({ address: listen, source: '--outbound' })),
    ...routes.map(({ listen, isCaptured }) => ({
      address: listen,
      source: isCaptured ? '--captured' : '--outbound',
    })),
  ]
}

/** Returns the addresses that explicit routes connect to. */
export function dialledBy({ pairs, routes }: Outbound): readonly Named<UpstreamAddress>[] {
  const addresses: readonly UpstreamAddress[] = [
    ...pairs.map(({ upstream }) => upstream),
    ...routes
      .filter(({ isCaptured }) => !isCaptured)
      .map(({ targets: [{ host, port }] }) => ({ kind: 'tcp' as const, tls: false, host, port })),
  ]
  return addresses.map((address) => ({ address, source: '--outbound' }))
}

/** Returns the CA file for https:// dependencies; rejects one without effect. */
export function outboundTlsOf(
  { outboundCa: ca }: OutboundValues,
  pairs: readonly Pair[],
): TlsPaths {
  if (ca === undefined) return {}
  const isUsed = pairs.some(
    ({ isOutbound, upstream }) => isOutbound && upstream.kind === 'tcp' && upstream.tls,
  )
  if (isUsed) return { ca: pathTo('name a PEM file')(ca) }
  throw invalidCombination(
    `${ca.source} has no effect: no --outbound has an https:// target`,
    'remove it, or use https://',
  )
}
