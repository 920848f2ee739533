import {
  CIDR_FORMAT,
  DURATION_FORMAT,
  GLOB_FORMAT,
  LATENCY_FORMAT,
  PERCENT_FORMAT,
  RATE_FORMAT,
  REGEX_FORMAT,
  SIZE_FORMAT,
} from '../../filters/lib/config-schema.ts'
import { readDuration, readFactor, readPercent, readRate, readSize } from '../../base/units.ts'
import { isGlob, MAX_GLOB } from '../../base/glob.ts'
import { readInstant } from '../../base/instant.ts'
import { RegexError } from '../../base/regex/regex-error.ts'
import { parseCidr } from '../../http/address.ts'
import { parseProtocolVersionRange } from './protocol-version-range.ts'
import { SafeRegex } from '../../base/regex/safe-regex.ts'

/** A kind of text that means more than its characters. */
export interface Format {
  /** The expected form with an example, for messages. */
  readonly wants: string
  /** Returns the problem of a text; undefined when it is valid. */
  problem(text: string): string | undefined
  /** Converts the text to its value. Without it, the text is the value. */
  readonly read?: (text: string) => number | undefined
}

export const INSTANT_FORMAT = 'date-time'
/** A share that is kept as 0 to 1. */
export const FRACTION_FORMAT = 'squall-fraction'
export const PROTOCOL_VERSION_FORMAT = 'squall-protocol-version'

function readable(wants: string, read: (text: string) => number | undefined): Format {
  return { wants, read, problem: (text) => (read(text) === undefined ? `not ${wants}` : undefined) }
}

export const FORMATS: Readonly<Record<string, Format>> = {
  [DURATION_FORMAT]: readable('a duration such as 300ms, 5s or 10m, at most 30d', readDuration),
  [LATENCY_FORMAT]: {
    wants: 'a duration such as 500ms, or a multiple of the value before the stages such as 2x',
    problem: (text) =>
      readDuration(text) === undefined && (readFactor(text) ?? 0) <= 1
        ? 'not a duration such as 500ms, or a multiple above 1 such as 2x'
        : undefined,
    read: (text) => readDuration(text),
  },
  [SIZE_FORMAT]: readable('a size such as 512B, 8KiB or 1MB', readSize),
  [PERCENT_FORMAT]: readable('a percentage such as 30%, from 0% to 100%', readPercent),
  [RATE_FORMAT]: readable('a rate such as 200/s or 30/m', readRate),
  [FRACTION_FORMAT]: readable('a share such as 5% or 0.05', (text) => {
    const percent = text.endsWith('%') ? readPercent(text) : undefined
    return percent === undefined ? undefined : percent / 100
  }),
  [INSTANT_FORMAT]: readable(
    'a timestamp with a UTC offset, such as 2026-03-01T09:00:00Z or 2026-03-01T09:00:00+01:00',
    readInstant,
  ),
  [REGEX_FORMAT]: { wants: 'a regular expression', problem: regexProblem },
  [GLOB_FORMAT]: {
    wants: 'a string or a glob',
    problem: (text) =>
      isGlob(text) && text.length > MAX_GLOB
        ? `a glob must have at most ${MAX_GLOB} characters; got ${text.length}`
        : undefined,
  },
  [CIDR_FORMAT]: {
    wants: 'a CIDR range such as 10.0.0.0/8 or fd00::/8, or an IP address',
    problem: (text) =>
      parseCidr(text) === undefined ? 'not a CIDR range such as 10.0.0.0/8' : undefined,
  },
  [PROTOCOL_VERSION_FORMAT]: {
    wants: 'a protocol version or a range, such as 2025-06-18 or ">=2025-03-26 <2025-11-25"',
    problem: (text) =>
      parseProtocolVersionRange(text) === undefined
        ? 'not a protocol version or a range'
        : undefined,
  },
}

function regexProblem(text: string): string | undefined {
  try {
    void new SafeRegex(text)
    return undefined
  } catch (error) {
    if (error instanceof RegexError) return error.message
    throw error
  }
}
