export { type Verdict, VERDICT_NAMES } from '../agents/verdicts.ts'
export { bind, BindError } from '../listener/front/bind.ts'
export { RareLog } from '../listener/rare-log.ts'
export { LineSplitter } from '../listener/stdio/lines.ts'
export { createLogger, type Logger, SILENT } from '../telemetry/log.ts'
export { CONTENT_TYPE, exposed } from '../telemetry/prom-registry.ts'
export {
  pathsOf,
  REDACTED,
  type Redaction,
  redactMessage,
  redactText,
} from '../telemetry/redact.ts'
export { ShownIds } from '../telemetry/shown-ids.ts'
export { TAPE_VERSION, type TapeHeader, type TapeLine } from '../telemetry/tape-line.ts'
export {
  familyText,
  type MetricSpec,
  type Sample,
  samplesText,
  toolLabel,
} from '../telemetry/text-format.ts'
export { assemble, type Running } from './assemble.ts'
export { armedOptions, namedOptions, RUN_FLAGS, runOptionsOf } from './run-options.ts'
