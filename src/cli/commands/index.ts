import { ARM, DISARM } from './arm.ts'
import { ATTACHED } from './attached.ts'
import type { Command } from '../flags/command.ts'
import { type Invocation, parseAmong } from '../flags/command-parser.ts'
import type { Environment } from '../flags/flag.ts'
import { CHECK } from './check.ts'
import { completionCommand } from './completion.ts'
import { DEMO } from './demo.ts'
import {
  EXPERIMENT_AGAIN,
  EXPERIMENT_RESTORE,
  EXPERIMENT_RUN,
  EXPERIMENT_VALIDATE,
} from './experiment.ts'
import {
  EXPERIMENT_CATALOG,
  EXPERIMENT_COMPARE,
  EXPERIMENT_LIST,
  EXPERIMENT_SHOW,
} from './past-experiments.ts'
import { FAULT_ADD, FAULT_CLEAR, FAULT_LIST, FAULT_REMOVE } from './fault.ts'
import { INJECT, UNINJECT } from './inject.ts'
import { IMPORT } from './import.ts'
import { INIT } from './init.ts'
import { LOAD } from './load.ts'
import { EXPERIMENT_NEXT } from './next.ts'
import { REPORT_HTML, REPORT_MARKDOWN, REPORT_MERGE } from './report.ts'
import { EXPLAIN } from './explain.ts'
import { SCHEMA, VALIDATE } from './rules.ts'
import { APPLY } from './apply.ts'
import { ATTACH, DETACH } from './attach.ts'
import { STATUS } from './status.ts'
import { RESUME, STOP } from './stop.ts'
import { HOOK, POLICY_PRINT, POLICY_VALIDATE } from './policy.ts'
import { APPROVE, MCP } from './mcp.ts'
import { PRE_STOP } from './pre-stop.ts'
import { REDIRECT } from './redirect.ts'
import { RUN } from './run.ts'
import { EXPERIMENT_SEARCH } from './search.ts'
import { EXPERIMENT_SIMULATE } from './simulate.ts'
import { STDIO } from './stdio.ts'
import { TAP } from './tap.ts'
import { TOP } from './top.ts'
import { WATCH } from './watch.ts'
import { WAIT_READY } from './wait-ready.ts'
import { WEBHOOK } from './webhook.ts'

/** The commands of the program, in the order in which its help lists them. */
export const COMMANDS: readonly Command[] = [
  RUN,
  STDIO,
  DEMO,
  INIT,
  CHECK,
  TOP,
  TAP,
  WATCH,
  FAULT_ADD,
  FAULT_LIST,
  FAULT_REMOVE,
  FAULT_CLEAR,
  DISARM,
  ARM,
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
  VALIDATE,
  SCHEMA,
  EXPLAIN,
  IMPORT,
  APPLY,
  STATUS,
  ATTACH,
  DETACH,
  STOP,
  RESUME,
  INJECT,
  UNINJECT,
  WEBHOOK,
  REDIRECT,
  ATTACHED,
  WAIT_READY,
  PRE_STOP,
  completionCommand(() => COMMANDS),
]

/** Parses the arguments after the program's name. Throws nothing but a `UsageError`. */
export function parseCommandLine(
  args: readonly string[],
  env: Environment,
  version: string,
): Invocation {
  return parseAmong(COMMANDS, args, env, version)
}
