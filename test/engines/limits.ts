import { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import { Arming } from '../../src/rules/guard/arming.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import type { RulesFile } from '../../src/rules/file/schema.ts'
import type { SidecarOptions } from '../../src/listener/sidecar-options.ts'

/** Bounds of the sidecars here, small so that short scripts meet them. */
export const MAX_HEADER_SIZE = 4096
export const MAX_BODY = 24 * 1024

const LONG = 600_000

/** The options of all sidecars of a campaign but for engine and addresses. */
export const SETTINGS: Omit<SidecarOptions, 'pairs' | 'engine'> = {
  listenTls: undefined,
  upstreamTls: {},
  upstreamServername: undefined,
  upstreamInsecure: false,
  readyWithoutUpstream: false,
  strict: false,
  maxHeaderSize: MAX_HEADER_SIZE,
  maxBody: MAX_BODY,
  // Nothing here may depend on how fast the machine is.
  headerTimeout: LONG,
  bodyTimeout: LONG,
  holdTimeout: LONG,
  inFlightTtl: LONG,
  upstreamReuse: true,
  upstreamIdle: LONG,
  connectTimeout: LONG,
  clientKeepalive: LONG,
  maxConnections: 10_000,
  overloadReserve: 256,
  maxUpstreamConnections: 10_000,
  maxInFlight: 20_000,
  maxSessions: 10_000,
  drainTimeout: 1_000,
}

/** Makes rules active as a process does. */
export function activate(file: RulesFile): ActiveRules {
  const states = new RuleStates()
  const arming = new Arming(states, Date.now)
  const rules = new ActiveRules({ states, arming, limits: {}, clock: Date.now })
  rules.take({ kind: 'rules', digest: 'all', file })
  return rules
}
