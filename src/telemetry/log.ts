import { plainJson } from '../base/text/foreign-text.ts'
import { pino, type DestinationStream, type Logger as Pino } from 'pino'
import { formatPretty } from './log-pretty.ts'
import { redact } from './log-redact.ts'

/** Logs structured lines; pino's logger satisfies this interface. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child?(fields: object): Logger
}

/** Log levels, most talkative first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Ways to log ids of calls: shortened, as the start of a hash, or not at all. */
export const LOG_IDS = ['full', 'hash', 'off'] as const
export type LogIds = (typeof LOG_IDS)[number]

/** Log formats: `json` for machines, `pretty` for people. */
export const LOG_FORMATS = ['json', 'pretty'] as const
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

// Bounds the lines buffered for a reader of standard output that has stalled; further lines are dropped.
const MAX_BUFFERED = 4 * 1024 * 1024

/** Creates a logger with one line per event and without the values of secrets. */
export function createLogger(options: LoggerOptions): FlushableLogger {
  const output = options.destination ?? standardOutput()
  const destination = lineStream(output, options.format === 'pretty' ? formatPretty : plainLine)
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // Redaction has converted errors to plain objects.
      serializers: { err: (plain: unknown) => plain },
      formatters: { level: (level) => ({ level }), log: redact },
    },
    destination,
  )
  return new RedactingLogger(logger, () => output.flushSync?.())
}

class RedactingLogger implements FlushableLogger {
  readonly #pino: Pino
  readonly flush: () => void

  constructor(logger: Pino, flush: () => void) {
    this.#pino = logger
    this.flush = flush
  }

  debug(fields: object, message: string): void {
    this.#pino.debug(fields, message)
  }

  info(fields: object, message: string): void {
    this.#pino.info(fields, message)
  }

  warn(fields: object, message: string): void {
    this.#pino.warn(fields, message)
  }

  error(fields: object, message: string): void {
    this.#pino.error(fields, message)
  }

  child(fields: object): FlushableLogger {
    // pino formats the fields of a child once, without the formatter above.
    return new RedactingLogger(this.#pino.child(redact({ ...fields })), this.flush)
  }
}

function standardOutput(): LogDestination {
  const { stdout } = process
  // Traffic continues when the reader of the log has gone.
  stdout.on('error', () => {})
  return {
    write: (line) => {
      if (stdout.writableLength < MAX_BUFFERED) stdout.write(line)
    },
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
