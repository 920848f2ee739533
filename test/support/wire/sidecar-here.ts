import { AgentWatch } from '../../../src/agents/agent-watch.ts'
import { Sidecar } from '../../../src/listener/sidecar.ts'
import type { SidecarOptions } from '../../../src/listener/sidecar-options.ts'
import type { Logger } from '../../../src/telemetry/log.ts'
import { Metrics } from '../../../src/telemetry/metrics.ts'
import { ENGINE_UNDER_TEST } from './engine.ts'
import { ruleStage, type RuleStageOptions } from './rules.ts'
import type { RunningSidecar, StartOptions } from './sidecar.ts'

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields, message) =>
    process.stderr.write(`${message} ${(fields as { err?: Error }).err?.stack ?? ''}\n`),
}

/** Starts a sidecar in this process, in front of a URL; called by `startSidecar`. */
export async function startBefore(
  upstream: string,
  {
    rules,
    file,
    faults: replaced,
    clock,
    reported,
    tasks,
    watch,
    outboundPairs = [],
    ...overrides
  }: Omit<StartOptions, 'upstream'>,
): Promise<RunningSidecar> {
  const url = new URL(upstream)
  const options: SidecarOptions = {
    pairs: [
      {
        listen: { kind: 'tcp', host: '127.0.0.1', port: 0 },
        upstream: {
          kind: 'tcp',
          tls: url.protocol === 'https:',
          host: url.hostname.replace(/^\[|\]$/g, ''),
          port: Number(url.port),
        },
      },
      ...outboundPairs,
    ],
    listenTls: undefined,
    upstreamTls: {},
    upstreamServername: undefined,
    upstreamInsecure: false,
    readyWithoutUpstream: false,
    strict: false,
    engine: ENGINE_UNDER_TEST,
    maxHeaderSize: 65_536,
    headerTimeout: 60_000,
    bodyTimeout: 300_000,
    holdTimeout: 120_000,
    maxBody: 4_194_304,
    maxConnections: 10_000,
    overloadReserve: 256,
    maxInFlight: 20_000,
    inFlightTtl: 600_000,
    maxSessions: 10_000,
    maxUpstreamConnections: 10_000,
    upstreamReuse: true,
    upstreamIdle: 3_000,
    connectTimeout: 5_000,
    clientKeepalive: 600_000,
    drainTimeout: 25_000,
    ...overrides,
  }
  const metrics = new Metrics({ version: '0.0.0-test' })
  const staged: RuleStageOptions = {
    ...(file && { file }),
    ...(replaced && { faults: replaced }),
    ...(clock && { clock }),
    ...(reported && { reported }),
  }
  const faults = rules && ruleStage(rules, staged)
  const agents = tasks && new AgentWatch(tasks, metrics.tasks)
  const parts = { telemetry: metrics, logger: silent, faults, watch, agents }
  const sidecar = new Sidecar(options, { ...parts, outboundCounts: metrics.outbound })
  const ports = (await sidecar.listen()).map(({ port }) => port)
  return {
    url: `http://127.0.0.1:${ports[0]!}`,
    host: '127.0.0.1',
    port: ports[0]!,
    ports,
    sidecar,
    faults,
    agents,
    metrics: async () => {
      sidecar.sweep()
      return (await metrics.render()).text
    },
    close: () => sidecar.close(),
  }
}
