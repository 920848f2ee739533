import type { RequestListener } from 'node:http'
import { startUpstream } from '../../../../test/support/wire.ts'

/** A monitoring system as its script says. */
export interface Monitor {
  readonly url: string
  /** The alerts of both APIs. */
  alerts: readonly object[]
  /** Replaces the response. */
  respond: RequestListener | undefined
  readonly requests: { readonly url: string; readonly authorization: string | undefined }[]
  close(): Promise<void>
}

/** Starts a monitoring system with the APIs of Alertmanager and Prometheus. */
export async function startMonitor(): Promise<Monitor> {
  const listener: RequestListener = (req, res) => {
    const { url = '', headers } = req
    const { authorization } = headers
    own.requests.push({ url, authorization })
    if (own.respond !== undefined) return own.respond(req, res)
    const isPrometheus = url.startsWith('/base/api/v1/alerts')
    const body = isPrometheus
      ? { status: 'success', data: { alerts: own.alerts } }
      : own.alerts.filter((alert) => !JSON.stringify(alert).includes('pending'))
    res.end(JSON.stringify(body))
  }
  const { port, close } = await startUpstream(listener)
  const url = `http://127.0.0.1:${port}/base`
  const own: Monitor = { url, alerts: [], respond: undefined, requests: [], close }
  return own
}

export const STARTS = '2026-01-01T00:00:00.000Z'
export const FIRING = {
  labels: { alertname: 'McpErrorsHigh', namespace: 'shop' },
  startsAt: STARTS,
  activeAt: STARTS,
  state: 'firing',
}
export const PENDING = { ...FIRING, state: 'pending' }
