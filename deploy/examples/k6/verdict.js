// Reads from sidecars which errors were real, which k6 cannot see. SIDECARS lists their admin ports, such
// as http://10.1.0.4:15390,http://10.1.0.5:15390.
import http from 'k6/http'
import { Gauge } from 'k6/metrics'

const SIDECARS = (__ENV.SIDECARS || '').split(',').filter((each) => each !== '')
const SAMPLE = /^squall_calls_total\{([^}]*)\} (\S+)/gm
const NO_ERROR = /outcome="(?:ok|cancelled)"/
const realErrors = new Gauge('squall_real_errors')

/** Thresholds on the counts of the sidecars. */
export const thresholds =
  SIDECARS.length === 0 ? {} : { squall_real_errors: [`value<=${__ENV.MAX_REAL_ERRORS || 0.01}`] }

/** Returns the current counts of calls and real errors of all sidecars. */
export function counts() {
  const all = { calls: 0, errors: 0 }
  for (const sidecar of SIDECARS) {
    const { status, body } = http.get(`${sidecar}/metrics`, { tags: { name: 'metrics' } })
    // Fails if a sidecar is missing, because the verdict would ignore its calls.
    if (status !== 200) throw new Error(`${sidecar}/metrics has the status ${status}`)
    for (const [, labels, value] of body.matchAll(SAMPLE)) {
      all.calls += Number(value)
      if (labels.includes('origin="real"') && !NO_ERROR.test(labels)) all.errors += Number(value)
    }
  }
  return all
}

/** Sets the share of real errors among the calls since `before`. */
export function judge(before) {
  if (SIDECARS.length === 0) return
  const { calls, errors } = counts()
  if (calls === before.calls) throw new Error('no call of this load reached the sidecars')
  realErrors.add((errors - before.errors) / (calls - before.calls))
}
