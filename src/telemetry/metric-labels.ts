import type { LabelName } from './metric-table.ts'

/** Describes the values of each label, and their bound. */
export const LABELS: Readonly<Record<LabelName, string>> = {
  method: 'JSON-RPC method; `other` for methods that MCP does not define.',
  tool: 'Tool name of a `tools/call`, or of the call whose task a `tasks/…` request is about, truncated to 128 characters. Empty for other methods. `other` after the first 200 names.',
  outcome:
    '`ok`, `tool_error`, `rpc_error`, `http_error`, `reset`, `timeout`, `cancelled`, `incomplete`, `abandoned`. For connections to dependencies: `ok`, `refused`, `timeout`, `unreachable`, `dns`, `reset`, `cut`, `blackhole`, `overload`, `error`.',
  origin:
    'Cause of the outcome: `real` (your MCP server or the client), `injected` (a fault), `squall` (Squall itself), `injected_elsewhere` (a fault of another Squall, with `--trust-markers`).',
  destination:
    'The dependency as configured, such as `db:5432`; `other` for addresses without a target.',
  direction: '`sent` to the dependency, or `received` from the dependency.',
  class: '`mcp` (streams, notifications, session ends), `http`, `upgrade`.',
  code: 'HTTP status. `none` without a response, `other` outside 100 to 599.',
  reason: 'The cause, such as `bad_request`.',
  kind: '`client`, `upstream`, `tunnel` for connections; `request`, `push` for streams; the outcome for errors.',
  rule: 'Name of the rule; `other` after the first 2,000 names, or the first 1,000 of temporary faults, since the process started.',
  fault:
    'Name of the fault. For verdicts about an error that no fault caused: the origin of the error.',
  result:
    'For reloads: `applied`, `rejected`, `absent`. For the call log and the tape: `written`, `dropped`. For tasks: `ok`, `recovered`, `failed`. For rules: `disarmed`, `other_pod`, `not_yet`, `expired`, `quota_used`, `not_selected`, `not_sampled`, `forbidden`, and for sampled calls `dry_run`, `injected`, `concurrency_limit`, `within_limit`, `not_applicable`, `not_reached`.',
  verdict:
    '`ambiguous`, `duplicate_execution`, `possible_duplicate`, `runaway`, `ignored_retry_after`, `honoured_retry_after`, `retried`, `retried_changed`, `reinitialized`, `relisted`, `switched_tool`, `continued`, `gave_up`. For false values: `used`, `used_blocked`, `used_after_verification`, `verified`, `not_seen`, `untracked`.',
  hint: 'The effect that a tool declares: `read_only`, `additive`, `destructive`, `unknown`.',
  by: '`header`, `trace`, `meta`, `session`, `client`.',
  idempotent:
    '`declared` if a forwarded tool list sets `idempotentHint` or `readOnlyHint` of the tool to true, else `not_declared`.',
  digest: 'Digest of the rules file.',
  generation: 'Number of rules versions that have become active.',
  seed: 'Sampling seed, from the rules or `--seed`, or generated at start.',
  table: '`sessions`, `in_flight_calls`, `endpoints`, `redirects`, `tasks`.',
  version: 'Squall version.',
  node: 'Node.js version.',
}
