import { AGENTS } from '../policy/policy-block.ts'
import { asText, group, missing, one, oneOf, operation, toggle, type UsageError } from '#cli'
import { stateOf } from './experiment.ts'

const PAGE = 'docs/guides/policy.md'
const DEFAULT_FILE = 'squall-policy.yaml'
const OUTPUT = group('Output:', {
  agent: one('agent', `agent: ${AGENTS.join(' or ')}`, oneOf(AGENTS), { default: 'claude' }),
})

export const POLICY_VALIDATE = operation({
  name: 'mcp policy validate',
  examples: [
    'mcp policy validate squall-policy.yaml',
    'mcp policy validate squall-policy.yaml --json',
  ],
  page: PAGE,
  description: 'check policies; use - for standard input',
  operands: { form: '<paths...>', most: Infinity },
  flags: group('Output:', { json: toggle('print JSON') }),
  fromEnvironment: false,
  parse: ({ json }, { operands: paths }) => {
    if (paths.length === 0) throw noPolicy('validate')
    return { paths, json }
  },
})

export const POLICY_PRINT = operation({
  name: 'mcp policy print',
  examples: [
    'mcp policy print squall-policy.yaml',
    'mcp policy print squall-policy.yaml --agent cursor',
  ],
  page: PAGE,
  description: "print a policy as a block for an agent's instructions file",
  operands: { form: '<path>', most: 1 },
  flags: OUTPUT,
  fromEnvironment: false,
  parse: ({ agent }, { operands: [path] }) => {
    if (path === undefined) throw noPolicy('print')
    return { path, agent }
  },
})

export const POLICY_INIT = operation({
  name: 'mcp policy init',
  examples: ['mcp policy init', 'mcp policy init --agent cursor'],
  page: PAGE,
  description: 'generate a starter policy, and the settings that prevent an agent from changing it',
  flags: OUTPUT,
  fromEnvironment: false,
  parse: ({ agent }) => ({ path: DEFAULT_FILE, agent }),
})

export const POLICY_TRUST = operation({
  name: 'mcp policy trust',
  examples: ['mcp policy trust', 'mcp policy trust squall-policy.yaml'],
  page: PAGE,
  description:
    'trust the current content of a policy, in a terminal; required for the experiments of squall mcp',
  operands: { form: '[path]', most: 1 },
  flags: {},
  fromEnvironment: false,
  parse: (_, { operands: [path = DEFAULT_FILE], env }) => ({
    path,
    trust: stateOf(undefined, env),
  }),
})

export const MCP_HOOK = operation({
  name: 'mcp hook',
  examples: ['mcp hook', 'mcp hook --policy squall-policy.yaml'],
  page: 'docs/guides/policy-hook.md',
  description:
    "allow or deny an agent's tool call, given its hook event, such as PreToolUse, on standard input",
  flags: group('Policy:', {
    policy: one('file', 'policy to check against', asText, { default: DEFAULT_FILE }),
  }),
  note: `
Exit code: 0 if the policy allows the call, otherwise 2 with the reasons on standard error, even if the
event or the policy cannot be read.`,
  parse: ({ policy: path }, { env }) => ({ path, state: stateOf(undefined, env) }),
})

function noPolicy(command: string): UsageError {
  return missing('no policy', `see squall mcp policy ${command} --help`)
}
