import { RULE, TOOL } from './variables.mjs'

/** A counter's increase per second, summed by these labels. */
export function rate(metric, selector, by = '', range = '$__rate_interval') {
  return `sum${grouped(by)} (rate(${metric}{${selector}}[${range}]))`
}

/** A counter's increase over what the dashboard shows, summed by these labels. */
export function increase(metric, selector, by = '') {
  return `sum${grouped(by)} (increase(${metric}{${selector}}[$__range]))`
}

/** The same without fractions: Prometheus extrapolates to the ends of the range. */
export function count(metric, selector, by = '') {
  return `round(${increase(metric, selector, by)})`
}

/** A percentile of a histogram. */
export function quantile(rank, metric, selector, by = '') {
  const labels = by === '' ? 'le' : `le, ${by}`
  return `histogram_quantile(${rank}, ${rate(`${metric}_bucket`, selector, labels)})`
}

/** A mean of a histogram; nothing where nothing was observed. */
export function mean(metric, selector, by = '', range = '$__rate_interval') {
  const calls = rate(`${metric}_count`, selector, by, range)
  return `${rate(`${metric}_sum`, selector, by, range)} / (${calls} > 0)`
}

/** A part of something; zero where there is none of it, nothing where there is nothing at all. */
export function share(part, whole) {
  return `(${part} or 0 * ${whole}) / (${whole} > 0)`
}

/** Zero instead of nothing. Only for a query without labels in its result. */
export function orZero(expr) {
  return `${expr} or vector(0)`
}

function grouped(by) {
  return by === '' ? '' : ` by (${by})`
}

const ENDED = 'method="tools/call", outcome!="cancelled"'
/** Calls of tools that their clients did not cancel on purpose. */
export const CALLS = `${TOOL}, ${ENDED}`
/** … that ended well. */
export const RESPONDED = `${TOOL}, method="tools/call", outcome="ok"`
/** … whose outcome no fault made. */
export const OWN_CALLS = `${CALLS}, origin!~"injected|injected_elsewhere"`
/** … and that failed. */
export const REAL_ERRORS = `${TOOL}, method="tools/call", outcome!~"ok|cancelled", origin!~"injected|injected_elsewhere"`
/** Calls of all methods that failed. */
const FAILED = `${TOOL}, outcome!~"ok|cancelled"`
export const FAILED_INJECTED = `${FAILED}, origin=~"injected|injected_elsewhere"`
export const FAILED_REAL = `${FAILED}, origin!~"injected|injected_elsewhere"`
/** Calls of tools that failed by a fault. */
export const INJECTED_ERRORS = `${TOOL}, method="tools/call", outcome!~"ok|cancelled", origin=~"injected|injected_elsewhere"`
/** Faults of the chosen rules on the chosen tools. */
export const FAULTS = `${RULE}, tool=~"$tool"`

/**
 * The calls that ended well although a fault changed their request or response, as an increase over
 * what is shown or per second. Arguments as for `rate`.
 */
function changed(by, range) {
  const all = rate('squall_calls_total', CALLS, by, range)
  return `(${rate('squall_calls_changed_total', `${TOOL}, tool!=""`, by, range)} or 0 * ${all})`
}

/** Untouched ÷ responded. */
export function untouched(by = '', range = '$__rate_interval') {
  const responded = rate('squall_calls_total', RESPONDED, by, range)
  return `clamp_min(1 - ${changed(by, range)} / (${responded} > 0), 0)`
}

/** Responded ÷ calls times untouched ÷ responded. */
export function availability(by = '', range = '$__rate_interval') {
  const calls = rate('squall_calls_total', CALLS, by, range)
  const responded = `(${rate('squall_calls_total', RESPONDED, by, range)} or 0 * ${calls})`
  return `clamp_min((${responded} - ${changed(by, range)}) / (${calls} > 0), 0)`
}
