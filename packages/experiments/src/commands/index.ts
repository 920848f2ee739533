import type { Command } from '#cli'
import { CHECK } from './check.ts'
import { DEMO } from './demo.ts'
import {
  EXPERIMENT_AGAIN,
  EXPERIMENT_RESTORE,
  EXPERIMENT_RUN,
  EXPERIMENT_VALIDATE,
} from './experiment.ts'
import { IMPORT } from './import.ts'
import { INIT } from './init.ts'
import { LOAD } from './load.ts'
import { APPROVE, MCP } from './mcp.ts'
import { EXPERIMENT_NEXT } from './next.ts'
import {
  EXPERIMENT_CATALOG,
  EXPERIMENT_COMPARE,
  EXPERIMENT_LIST,
  EXPERIMENT_SHOW,
} from './past-experiments.ts'
import { HOOK, POLICY_PRINT, POLICY_VALIDATE } from './policy.ts'
import { REPORT_HTML, REPORT_MARKDOWN, REPORT_MERGE } from './report.ts'
import { SCHEMA } from './schema.ts'
import { EXPERIMENT_SEARCH } from './search.ts'
import { EXPERIMENT_SIMULATE } from './simulate.ts'

export const COMMANDS: readonly Command[] = [
  DEMO,
  INIT,
  CHECK,
  LOAD,
  REPORT_HTML,
  REPORT_MARKDOWN,
  REPORT_MERGE,
  EXPERIMENT_RUN,
  EXPERIMENT_VALIDATE,
  EXPERIMENT_CATALOG,
  EXPERIMENT_NEXT,
  EXPERIMENT_LIST,
  EXPERIMENT_SHOW,
  EXPERIMENT_COMPARE,
  EXPERIMENT_AGAIN,
  EXPERIMENT_SEARCH,
  EXPERIMENT_SIMULATE,
  EXPERIMENT_RESTORE,
  POLICY_VALIDATE,
  POLICY_PRINT,
  HOOK,
  MCP,
  APPROVE,
  SCHEMA,
  IMPORT,
]
