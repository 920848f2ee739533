export { type Verdict, VERDICT_NAMES } from '../agents/verdicts.ts'
export { bind, BindError, type BoundAddress } from '../listener/front/bind.ts'
export type { OwnUpstream } from '../listener/port-stack.ts'
export { RareLog } from '../listener/rare-log.ts'
export { LineSplitter } from '../listener/stdio/lines.ts'
export { boundsOf, LIMIT_FLAGS } from './rules-options.ts'
export {
  createLogger,
  type LogFormat,
  type Logger,
  type LogLevel,
  SILENT,
} from '../telemetry/log.ts'
export type { MetricSpec } from '../telemetry/metric-table.ts'
export type { Exposition } from '../telemetry/metrics.ts'
export { CONTENT_TYPE, nodeTexts, registryTexts } from '../telemetry/prom-registry.ts'
export { pathsOf, redactMessage, type Redaction } from '../telemetry/redact-message.ts'
export { REDACTED } from '../telemetry/log-redact.ts'
export { redactText } from '../telemetry/redact-text.ts'
export { TAPE_VERSION, type TapeHeader, type TapeLine } from '../telemetry/tape-line.ts'
export {
  END,
  familyText,
  type Sample,
  samplesText,
  type TextFormat,
} from '../telemetry/text-format.ts'
export { toolLabel } from '../telemetry/tool-label.ts'
export { assemble, type Running } from './assemble.ts'
export {
  armedOptions,
  namedOptions,
  RUN_FLAGS,
  type RunOptions,
  runOptionsOf,
} from './run-options.ts'
