import { readPercent, readDuration } from '../../base/units.ts'
import type { HeaderLines } from '../../http/headers.ts'

/** The faults that a caller requests by headers. */
export interface RequestedFaults {
  /** In milliseconds, above 0; undefined when no delay is asked for. */
  readonly delay: number | undefined
  /** In percent of the calls that ask. */
  readonly delayPercent: number
  /** The status to respond with; undefined when no response is asked for. */
  readonly abort: number | undefined
  readonly abortPercent: number
}

const DELAY = 'x-squall-delay'
const ABORT = 'x-squall-abort'
const PERCENT = 'x-squall-percent'
const ENVOY_DELAY = 'x-envoy-fault-delay-request'
const ENVOY_ABORT = 'x-envoy-fault-abort-request'
const ENVOY_DELAY_PERCENT = 'x-envoy-fault-delay-request-percentage'
const ENVOY_ABORT_PERCENT = 'x-envoy-fault-abort-request-percentage'

export const FAULT_HEADERS = [
  DELAY,
  ABORT,
  PERCENT,
  ENVOY_DELAY,
  ENVOY_ABORT,
  ENVOY_DELAY_PERCENT,
  ENVOY_ABORT_PERCENT,
] as const

type FaultHeader = (typeof FAULT_HEADERS)[number]
type Read = (text: string) => number | undefined

const NAMES: ReadonlySet<string> = new Set(FAULT_HEADERS)
const SHORTEST = Math.min(...FAULT_HEADERS.map((name) => name.length))
const LONGEST = Math.max(...FAULT_HEADERS.map((name) => name.length))
const CAPITAL_X = 0x58
const SMALL_X = 0x78

/**
 * Reads the faults that a request's headers ask for; undefined when they ask for none. `invalid` is
 * called with each unreadable value. A delay or abort with an unreadable value or percentage is
 * ignored: applying it to all calls would be more than was asked for.
 */
export function readFaultHeaders(
  headers: HeaderLines,
  invalid: (header: string) => void,
): RequestedFaults | undefined {
  const given = givenFaults(headers)
  if (given === undefined) return undefined
  const read = (name: FaultHeader, as: Read): number | undefined => {
    const text = given.get(name)
    if (text === undefined) return undefined
    const value = as(text.trim())
    if (value === undefined) invalid(name)
    return value
  }
  // Squall's own words go before those that it knows from elsewhere.
  const delay = read(DELAY, readDuration) ?? read(ENVOY_DELAY, readMilliseconds)
  const abort = read(ABORT, readStatus) ?? read(ENVOY_ABORT, readStatus)
  const isDelayAsked = delay !== undefined && delay > 0
  if (!isDelayAsked && abort === undefined) return undefined
  const ofBoth = read(PERCENT, readPercent)
  const percent = (name: FaultHeader): number | undefined => {
    if (given.has(PERCENT)) return ofBoth
    return given.has(name) ? read(name, readNumerator) : 100
  }
  const delayPercent = isDelayAsked ? percent(ENVOY_DELAY_PERCENT) : undefined
  const abortPercent = abort === undefined ? undefined : percent(ENVOY_ABORT_PERCENT)
  if (delayPercent === undefined && abortPercent === undefined) return undefined
  return {
    delay: delayPercent === undefined ? undefined : delay,
    delayPercent: delayPercent ?? 0,
    abort: abortPercent === undefined ? undefined : abort,
    abortPercent: abortPercent ?? 0,
  }
}

/** The first value of each header that is about faults; undefined when there is none. */
function givenFaults(headers: HeaderLines): Map<string, string> | undefined {
  let given: Map<string, string> | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const line = headers[i]!
    if (line.length < SHORTEST || line.length > LONGEST) continue
    const first = line.charCodeAt(0)
    if (first !== SMALL_X && first !== CAPITAL_X) continue
    const name = line.toLowerCase()
    if (!NAMES.has(name) || given?.has(name) === true) continue
    given ??= new Map()
    given.set(name, headers[i + 1]!)
  }
  return given
}

/** Whole milliseconds in plain digits. */
function readMilliseconds(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

/** A status that ends an exchange. */
function readStatus(text: string): number | undefined {
  return /^[2-5]\d\d$/.test(text) ? Number(text) : undefined
}

/** An integer of a hundred. */
function readNumerator(text: string): number | undefined {
  return /^\d{1,3}$/.test(text) && Number(text) <= 100 ? Number(text) : undefined
}
