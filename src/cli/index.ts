export { changeSidecar, printOutcomes, type SidecarChange } from './sidecar-changes.ts'
export { print, readBytes, readText, writeText } from './files.ts'
export { adminToAsk, overlaps, parseListen } from '../sidecar/flags/address.ts'
export {
  adminAccessFlags,
  adminTokenOf,
  mcpTokenOf,
  ownHosts,
  parseHosts,
  readAccessOf,
  readTokenFlag,
  readTokenOf,
} from '../sidecar/flags/admin-access.ts'
export { parseEndpoints, SIDECAR_FLAGS } from './flags/admin-endpoints.ts'
export {
  type Command,
  command,
  type Context,
  defineCommand,
  operation,
  type RequestOf,
} from './flags/command.ts'
export {
  type Environment,
  type FlagInput,
  group,
  type Kind,
  namedFlags,
  readFlags,
  type Values,
} from '../base/flags/flag.ts'
export {
  asGiven,
  asText,
  atMost,
  count,
  duration,
  elementsOf,
  many,
  one,
  oneOf,
  pairs,
  parseCount,
  parsePercent,
  percent,
  size,
  toggle,
} from '../base/flags/kinds.ts'
export { LOG_FLAGS } from '../sidecar/flags/log.ts'
export {
  environmentLabelFlag,
  environmentNames,
  productionFlags,
  productionNamesFlag,
  productionOf,
  rejectProduction,
} from '../sidecar/flags/production.ts'
export {
  invalidAddress,
  invalidCombination,
  invalidFile,
  invalidOption,
  invalidValue,
  missing,
  UsageError,
} from '../base/flags/usage-error.ts'
export {
  drainSignal,
  INTERRUPTED,
  InterruptedError,
  InvalidFilesError,
  surviveOwnErrors,
} from './ending.ts'
export { explainCall } from './rules/explain.ts'
export {
  checkRulesText,
  readCheckedRules,
  readRulesSource,
  warningsOf,
} from './rules/rules-source.ts'
export {
  cells,
  fitLine,
  type Input,
  type Line,
  onStopSignal,
  openTerminal,
  type Output,
  pad,
  paintLine,
  plainText,
  type Span,
  span,
  textLine,
} from './terminal/terminal.ts'
export { isLive, waitReadyCommand } from './commands/wait-ready.ts'
