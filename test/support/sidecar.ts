import { Sidecar } from '../../src/listener/sidecar.ts'
import type { SidecarOptions } from '../../src/listener/sidecar-options.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import type { Logger } from '../../src/telemetry/log.ts'
import { ENGINE_UNDER_TEST } from './engine.ts'
import { ruleStage, type RuleStage, type RuleStageOptions } from './rules.ts'

export interface StartOptions extends Partial<Omit<SidecarOptions, 'pairs'>>, RuleStageOptions {
  readonly upstream: string
  /** Undefined for a sidecar that no rules can come into force in. */
  readonly rules?: readonly RuleSpec[]
}

export interface RunningSidecar {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly sidecar: Sidecar
  /** What its rules do; undefined without any. */
  readonly faults: RuleStage | undefined
  metrics(): Promise<string>
  close(): Promise<void>
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields, message) =>
    process.stderr.write(`${message} ${(fields as { err?: Error }).err?.stack ?? ''}\n`),
}

/** Starts a sidecar in this process, on a free port of loopback, in front of `upstream`. */
export async function startSidecar({
  upstream,
  rules,
  file,
  faults: replaced,
  ...overrides
}: StartOptions): Promise<RunningSidecar> {
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
    ],
    listenTls: undefined,
    upstreamTls: {},
    upstreamServername: undefined,
    upstreamInsecure: false,
    readyWithoutUpstream: false,
    strict: false,
    engine: ENGINE_UNDER_TEST,
    maxHead: 65_536,
    headTimeout: 60_000,
    bodyTimeout: 300_000,
    holdTimeout: 120_000,
    maxBody: 4_194_304,
    maxConnections: 10_000,
    overloadReserve: 256,
    maxPending: 20_000,
    pendingTtl: 600_000,
    maxSessions: 10_000,
    maxUpstreamConnections: 10_000,
    upstreamReuse: true,
    upstreamIdle: 3_000,
    connectTimeout: 5_000,
    clientKeepalive: 600_000,
    drainTimeout: 25_000,
    ...overrides,
  }
  const metrics = createMetrics({ version: '0.0.0-test' })
  const faults =
    rules && ruleStage(rules, { ...(file && { file }), ...(replaced && { faults: replaced }) })
  const sidecar = new Sidecar(options, metrics, silent, faults)
  const [bound] = await sidecar.listen()
  return {
    url: `http://127.0.0.1:${bound!.port}`,
    host: '127.0.0.1',
    port: bound!.port,
    sidecar,
    faults,
    metrics: async () => {
      sidecar.sweep()
      return (await metrics.render()).text
    },
    close: () => sidecar.close(),
  }
}
