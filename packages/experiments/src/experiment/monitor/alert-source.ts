import { fieldsOf, listOf, textOf, textsOf } from '#base'
import { askJson, MonitorError } from '#protocol'

/** An alert that must fire. */
export interface AlertSpec {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly withinMs: number
  /** Undefined when the alert need not resolve. */
  readonly resolvedMs: number | undefined
  readonly monitor: 'alertmanager' | 'prometheus'
  readonly url: URL
}

export interface AlertAccess {
  readonly headers: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/**
 * Asks whether an alert fires or is about to, and since when by the clock of the monitoring system.
 * Throws a `MonitorError`.
 */
export async function askAlert(spec: AlertSpec, access: AlertAccess) {
  const found = spec.monitor === 'alertmanager' ? askAlertmanager : askPrometheus
  const alerts = (await found(spec, access)).filter((alert) => {
    const labels = textsOf(alert['labels'])
    const wanted = Object.entries({ ...spec.labels, alertname: spec.name })
    return wanted.every(([name, value]) => labels[name] === value)
  })
  const firing = alerts.filter(({ state }) => state !== 'pending')
  const starts = firing.flatMap(({ startsAt, activeAt }) => textOf(startsAt ?? activeAt) ?? [])
  return {
    firing: firing.length > 0,
    pending: alerts.length > firing.length,
    startsAt: starts.filter((text) => !Number.isNaN(Date.parse(text))).toSorted()[0],
  }
}

type Found = Promise<readonly Readonly<Record<string, unknown>>[]>

/** Returns the alerts that reach receivers: neither silenced nor inhibited ones. */
async function askAlertmanager({ name, url }: AlertSpec, access: AlertAccess): Found {
  const query = {
    active: 'true',
    silenced: 'false',
    inhibited: 'false',
    filter: `alertname=${JSON.stringify(name)}`,
  }
  const alerts = await askJson(url, '/api/v2/alerts', query, access)
  if (!Array.isArray(alerts)) throw new MonitorError('unexpected response: not an Alertmanager API')
  return listOf(alerts)
}

async function askPrometheus({ url }: AlertSpec, access: AlertAccess): Found {
  const { status, data } = fieldsOf(await askJson(url, '/api/v1/alerts', {}, access))
  const { alerts } = fieldsOf(data)
  if (status !== 'success' || !Array.isArray(alerts)) {
    throw new MonitorError('unexpected response: not a Prometheus API')
  }
  return listOf(alerts).filter(({ state }) => state === 'firing' || state === 'pending')
}
