import { plainJson } from '../base/text/foreign-text.ts'
import { pino, type DestinationStream, type Logger as Pino } from 'pino'
import { formatPretty } from './log-pretty.ts'
import { redact } from './log-redact.ts'

/** What the rest of the program needs of a logger; pino's own fits it. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child?(fields: object): Logger
}

/** Log levels, most talkative first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
/** A log level. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** How ids of calls are shown: cut short, by the start of a hash, or not at all. */
export const LOG_IDS = ['full', 'hash', 'off'] as const

/** One of them. */
export type LogIds = (typeof LOG_IDS)[number]

/** `json` for machines, `pretty` for people. */
export const LOG_FORMATS = ['json', 'pretty'] as const
/** A log format. */
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Takes whole lines; one that holds lines back can be told to write them out. */
export interface LogDestination extends DestinationStream {
  flushSync?(): void
}

/** How to log. */
export interface LoggerOptions {
  readonly level: LogLevel
  readonly format: LogFormat
  /** Takes whole lines; standard output when left out. */
  readonly destination?: LogDestination
}

/** A logger that can be asked to write out what it still holds. */
export interface FlushableLogger extends Logger {
  child(fields: object): FlushableLogger
  flush(): void
}

// Where standard output takes lines later, a reader that stands still must not cost memory without
// bound: it loses lines instead.
const MAX_BUFFERED = 4 * 1024 * 1024

/** A logger with one line per event. */
export function createLogger(options: LoggerOptions): FlushableLogger {
  const output = options.destination ?? standardOutput()
  const destination = lineStream(output, options.format === 'pretty' ? formatPretty : plainLine)
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // Errors were made plain by the redaction already.
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
    // pino formats a child's fields once and passes them by the formatter above.
    return new RedactingLogger(this.#pino.child(redact({ ...fields })), this.flush)
  }
}

function standardOutput(): LogDestination {
  const { stdout } = process
  // A reader that has gone is no reason to stop carrying traffic.
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
