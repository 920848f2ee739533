export { CONTINUE, type FaultContext, type Frame, type Verdict } from '../filters/fault.ts'
export { FAULTS, type FaultUse } from '../filters/index.ts'
export {
  duration,
  GLOB_FORMAT,
  latencyLimit,
  mapOf,
  type NodeOptions,
  oneOf,
  percentage,
  rate,
  section,
} from '../filters/lib/config-schema.ts'
export { standardNormal } from '../filters/lib/duration-distribution.ts'
export { explainText } from './explain/explain-text.ts'
export { explain } from './explain/explain.ts'
export { idleFaults } from './explain/idle-faults.ts'
export { anchorWherever } from './file/anchor-off-thread.ts'
export { anchorText } from './file/anchor-text.ts'
export { editorSchema } from './file/editor-schema.ts'
export { fileFindings } from './file/file-findings.ts'
export { CIDR_FORMAT, REGEX_FORMAT } from './file/formats.ts'
export type { MatchSpec } from './file/match-spec.ts'
export { parseWherever } from './file/parse-off-thread.ts'
export { MAX_FILE_BYTES, parseRules, parseWithPositions } from './file/parse.ts'
export {
  type FileProblems,
  problemFrames,
  smallPercents,
  problemLines,
  problemsJson,
  sentence,
} from './file/problem-format.ts'
export { type Finding, type Path, pathText, type Problem } from './file/problem.ts'
export { fieldOf, readValues } from './file/read-values.ts'
export type { RuleFileSpec, RuleSpec } from './file/rule-spec.ts'
export {
  digestOf,
  foundTexts,
  isRulesFileName,
  MAX_FILES,
  type RulesText,
} from './file/rules-file.ts'
export { ALL_KEYS, RULES_LABEL, SEPARATE_KEYS } from './file/rules-label.ts'
export { parseFound } from './file/rules-parser.ts'
export { canAct, type RulesVersion } from './file/rules-version.ts'
export { fileSchema, schemaFindings } from './file/schema-findings.ts'
export type { SchemaNode } from './file/schema-node.ts'
export { type RulesFile, rulesJsonSchema, rulesSchemaText } from './file/schema.ts'
export { schemaText } from './file/schema-text.ts'
export { targetText } from './file/target-text.ts'
export { nearestKeyAlone } from './file/unknown-key.ts'
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
export { type Format, FORMATS } from './import/formats.ts'
export { type Imported, importFaults } from './import/import.ts'
export { exactName } from './import/values.ts'
export { kindText, noteLine } from './import/note-text.ts'
export { NOTE_KINDS } from './import/report.ts'
export type { CallFacts } from './match/call-facts.ts'
export { compileRules } from './match/compile.ts'
export { parseLabelSelector } from './match/label-selector.ts'
export { notForPod, type PodSelf } from './match/pod-match.ts'
export type { RuleSet } from './match/rule-set.ts'
export { compileText } from './match/text-match.ts'
export type { MatchedRule } from './select/matched-rule.ts'
export { type Policy, policySchemaText, type SweptTask } from './policy/policy-schema.ts'
export { MAX_POLICY_BYTES, readPolicy } from './policy/read-policy.ts'
export {
  namedTools,
  placeViolations,
  ruleViolations,
  toolViolations,
  type Violation,
} from './policy/rule-policy.ts'
export { finishPlan, type Plan, planCall } from './select/plan.ts'
export { RuleStates } from './select/rule-states.ts'
export { isAhead, ruleEnd } from './select/selection.ts'
export { FIRST_STAGE, MAX_FACTOR, MAX_POINTS, stagesTo, widest } from './select/stage-shares.ts'
export type { ActiveRules } from './watch/active-rules.ts'
