import type { Writable } from 'node:stream'
import { parsedJson } from '../base/values.ts'
import { plain, plainJson } from '../base/text/foreign-text.ts'
import { type DestinationStream, type Logger as Pino, pino } from 'pino'
import { redact } from './redact.ts'

const HIDDEN = new Set(['level', 'time', 'msg'])

/**
 * Formats a JSON log line for people: time of day, level, message, then fields as key=value. The
 * texts of a list follow, each on a line.
 */
export function formatPretty(line: string): string {
  const entry = parsedJson(line)
  if (typeof entry !== 'object' || entry === null) return line
  const fields = entry as Readonly<Record<string, unknown>>
  const head = `${timeOfDay(fields['time'])} ${levelOf(fields['level'])} ${text(fields['msg'])}`
  const rest = Object.entries(fields).filter(([key]) => !HIDDEN.has(key))
  const lists = rest.map(([, value]) => value).filter(isTexts)
  const pairs = rest
    .filter(([, value]) => !isTexts(value))
    .map(([key, value]) => `${plain(key)}=${valueOf(value)}`)
  const below = lists.flat().map((each) => `\n  ${plain(each)}`)
  return `${[head.trimEnd(), ...pairs].join(' ')}${below.join('')}\n`
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string')
}

function timeOfDay(time: unknown): string {
  const date = new Date(typeof time === 'string' || typeof time === 'number' ? time : Number.NaN)
  if (Number.isNaN(date.getTime())) return '--:--:--.---'
  const millis = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

function levelOf(level: unknown): string {
  return text(level).toUpperCase().padEnd(5)
}

function valueOf(value: unknown): string {
  if (typeof value !== 'string') return plain(JSON.stringify(value) ?? '')
  return /^[^\s"=]+$/.test(value) ? plain(value) : plain(JSON.stringify(value))
}

function text(value: unknown): string {
  return typeof value === 'string' ? plain(value) : ''
}

/** Logs structured lines; pino's logger satisfies this interface. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child?(fields: object): Logger
}

/** Logs nothing. */
export const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Log levels, most talkative first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Ways to log ids of calls: shortened, as the start of a hash, or not at all. */
export const LOG_IDS = ['full', 'hash', 'off'] as const
export type LogIds = (typeof LOG_IDS)[number]

/** Messages of errors in the admin API: without secrets, or none. */
export const ERROR_MESSAGES = ['redacted', 'off'] as const

/** Which injected faults are logged: all, at most ten a second, or none. */
export const LOG_INJECTIONS = ['all', 'sample', 'off'] as const
export type LogInjections = (typeof LOG_INJECTIONS)[number]

/**
 * Log formats: `json` for machines, `pretty` for people, `auto` for the reader of standard output.
 */
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Takes whole lines; `flushSync` writes buffered ones. */
export interface LogDestination extends DestinationStream {
  flushSync?(): void
}

/** Configures a logger. */
export interface LoggerOptions {
  readonly level: LogLevel
  readonly format: LogFormat
  /** Standard output by default. */
  readonly destination?: LogDestination
}

/** A logger that can write its buffered lines. */
export interface FlushableLogger extends Logger {
  child(fields: object): FlushableLogger
  flush(): void
}

// Bounds the bytes buffered for a reader of the log that has stalled; further lines are dropped.
const MAX_BUFFERED = 4 * 1024 * 1024

/** Returns true when people read the log: as the format says, or on a terminal. */
export function isForPeople(format: LogFormat): boolean {
  return format === 'pretty' || (format === 'auto' && process.stdout.isTTY)
}

/** Creates a logger with one line per event and without the values of secrets. */
export function createLogger(options: LoggerOptions): FlushableLogger {
  const output = options.destination ?? boundedOutput(process.stdout)
  const destination = lineStream(output, isForPeople(options.format) ? formatPretty : plainLine)
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // Redaction has converted errors to plain objects.
      serializers: { err: (error: unknown) => error },
      formatters: { level: (level) => ({ level }), log: redact },
    },
    destination,
  )
  return flushable(logger, () => output.flushSync?.())
}

function flushable(logger: Pino, flush: () => void): FlushableLogger {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    // pino formats the fields of a child once, without the formatter above.
    child: (fields) => flushable(logger.child(redact({ ...fields })), flush),
    flush,
  }
}

/**
 * Returns a destination that writes the lines of one turn of the event loop together, and drops
 * lines while its reader is far behind.
 */
export function boundedOutput(output: Writable): Required<LogDestination> {
  let lines = ''
  const flushSync = (): void => {
    if (lines !== '') output.write(lines)
    lines = ''
  }
  // Traffic continues when the reader of the log has gone.
  output.on('error', () => {})
  process.on('exit', flushSync)
  return {
    write: (line) => {
      if (output.writableLength + lines.length >= MAX_BUFFERED) return
      if (lines === '') setImmediate(flushSync)
      lines += line
    },
    flushSync,
  }
}

function lineStream(
  output: DestinationStream,
  format: (line: string) => string,
): DestinationStream {
  return { write: (line) => output.write(format(line)) }
}

function plainLine(line: string): string {
  return `${plainJson(line.trimEnd())}\n`
}
