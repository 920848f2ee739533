import { createAdmin, type Admin } from '../../src/admin/server.ts'
import { parseAppProbesJson } from '../../src/admin/probes/app-probe.ts'
import type { Logger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'

/** An admin port with probes of an app. */
export interface HealthStage {
  /** Asks as the kubelet does; `reset` where there was no response. */
  readonly ask: (key: string) => Promise<readonly [status: number | 'reset', why: string]>
  readonly port: number
  readonly admin: Admin
  readonly debug: readonly object[]
}

/** Starts an admin port that asks an app on loopback. */
export async function startHealth(probes: object): Promise<HealthStage> {
  const debug: object[] = []
  const logger: Logger = {
    debug: (fields) => void debug.push(fields),
    info: () => undefined,
    warn: () => undefined,
    error: (fields) => {
      throw new Error(JSON.stringify(fields))
    },
  }
  const metrics = createMetrics({ version: '1.2.3' })
  const admin = createAdmin({
    metrics,
    readiness: () => ({ ready: true, reason: 'serving' }),
    logger,
    version: '1.2.3',
    appProbes: parseAppProbesJson(JSON.stringify(probes), '127.0.0.1'),
  })
  const { port } = await admin.listen({ kind: 'tcp', host: '127.0.0.1', port: 0 })
  const ask: HealthStage['ask'] = async (key) => {
    try {
      const headers = { 'user-agent': 'kube-probe/1.33' }
      const response = await fetch(`http://127.0.0.1:${port}/app-health/${key}`, { headers })
      return [response.status, (await response.text()).trim()]
    } catch {
      return ['reset', '']
    }
  }
  return { ask, port, admin, debug }
}
