import { LOG_FORMATS, LOG_LEVELS } from '../../telemetry/log.ts'
import { group } from '../../base/flags/flag.ts'
import { one, oneOf } from '../../base/flags/kinds.ts'

/** Declares the options for the lines on standard error. */
export const LOG_FLAGS = group('Logs:', {
  logLevel: one(
    'level',
    'minimum level of log lines: debug, info, warn or error',
    oneOf(LOG_LEVELS),
    { default: 'info' },
  ),
  logFormat: one(
    'format',
    'log format: json, pretty (text), or auto: pretty on a terminal, json elsewhere',
    oneOf(LOG_FORMATS),
    { default: 'auto' },
  ),
})
