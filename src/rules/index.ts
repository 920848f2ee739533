export { CONTINUE, type FaultContext, type Frame, type Verdict } from '../filters/fault.ts'
export { FAULTS } from '../filters/index.ts'
export {
  CIDR_FORMAT,
  duration,
  GLOB_FORMAT,
  latencyLimit,
  mapOf,
  oneOf,
  percentage,
  rate,
  REGEX_FORMAT,
  section,
} from '../filters/lib/config-schema.ts'
export { callMatcher } from './explain/explain.ts'
export { anchorText, anchorWherever, targetText } from './file/applied-text.ts'
export { editorSchema, schemaText } from './file/schema-text.ts'
export { fileFindings } from './file/file-findings.ts'
export { parseFound, parseWherever } from './file/rules-parser.ts'
export { MAX_FILE_BYTES, parseRules, parseWithPositions } from './file/parse.ts'
export {
  type FileProblems,
  type Finding,
  type Path,
  pathText,
  type Problem,
  problemFrames,
  problemLines,
  problemsJson,
  sentence,
} from './file/problem.ts'
export {
  canAct,
  digestOf,
  foundTexts,
  isRulesFileName,
  MAX_FILES,
  type RulesText,
  type RulesVersion,
} from './file/rules-file.ts'
export { fileSchema, ownFindings, readBySchema } from './file/schema-findings.ts'
export { type RulesFile, rulesJsonSchema, rulesSchemaText } from './file/schema.ts'
export { located, readYaml, type YamlDocument } from './file/yaml-document.ts'
export {
  findProduction,
  NO_NAMES,
  type Production,
  PRODUCTION_NAMES,
  type ProductionCheck,
  productionPattern,
  productionPatternProblem,
  productionText,
  type SourcedName,
  urlNames,
} from './guard/production-names.ts'
export { rollbackConditionsProblem } from './guard/rollback-condition.ts'
export { parseStops, type Stop, STOP_KEY, stopsText } from './guard/stop-key.ts'
export { FORMATS } from './import/formats.ts'
export { type Imported, importFaults, notesText } from './import/import.ts'
export { compileText, exactName } from './match/text-match.ts'
export { notForPod, parseLabelSelector, type PodSelf } from './match/pod-match.ts'
export { type Policy, policySchemaText } from './policy/policy-schema.ts'
export {
  MAX_POLICY_BYTES,
  namedTools,
  placeViolations,
  readPolicy,
  ruleViolations,
  toolViolations,
  type Violation,
} from './policy/policy.ts'
export { callPlanner, finishPlan, type Plan } from './select/plan.ts'
export { isAhead, ruleEnd } from './select/selection.ts'
