import type { ListenAddress } from '#protocol'
import type { AdminEndpoint } from '#admin-api'
import {
  adminTokenOf,
  asText,
  atMost,
  type FlagInput,
  group,
  invalidCombination,
  invalidValue,
  many,
  mcpTokenOf,
  missing,
  one,
  operation,
  parseEndpoints,
  parseListen,
  type RequestOf,
} from '#cli'
import { parseTarget } from '../cli/server-flags.ts'
import { parseObjectName } from '#kubernetes'
import { ACCESS_FLAGS, accessOf, STATE, stateOf } from './experiment.ts'

const PAGE = 'docs/guides/agents.md'
const BOUNDS = 'What agents may use:'
const SERVER = 'The server:'
const MOST = 64

const MCP_FLAGS = {
  ...group(BOUNDS, {
    policy: one('file', 'policy that limits experiments', asText, {
      default: 'squall-policy.yaml',
    }),
    target: many('url', 'MCP endpoint whose tools agents may list; repeatable', targetsOf),
    sidecar: many(
      'host:port=file',
      'admin port of a sidecar and its rules file, which experiments may replace; repeatable',
      sidecarsOf,
    ),
    namespace: many('name', 'namespace whose pods experiments may use; repeatable', namesOf),
    monitor: many(
      'url',
      'Prometheus, Alertmanager or health endpoint that experiments may read; repeatable',
      (given) => targetsOf(given).map(({ origin }) => origin),
    ),
    adminTokenFile: one(
      'path',
      'file with the admin token of the sidecars, for the tool disarm (or set SQUALL_ADMIN_TOKEN)',
      asText,
    ),
  }),
  ...group(SERVER, {
    listen: one(
      'address',
      'serve Streamable HTTP at this address, such as 127.0.0.1:15391, instead of stdio',
      parseListen,
    ),
    tokenFile: one(
      'path',
      'file with the client token (or set SQUALL_MCP_TOKEN); required for non-loopback addresses',
      asText,
    ),
    audit: one('file', 'file to append each tool call to, as JSON lines', asText),
  }),
  ...ACCESS_FLAGS,
}

export const MCP = operation({
  name: 'mcp',
  examples: [
    'mcp --policy squall-policy.yaml --sidecar 127.0.0.1:15390=rules.yaml',
    'mcp --sidecar 127.0.0.1:15390=rules.yaml --listen 127.0.0.1:15391 --audit audit.jsonl',
  ],
  page: PAGE,
  description:
    'run an MCP server for AI agents, which propose experiments and run them once a person approves',
  flags: MCP_FLAGS,
  parse: (flags, { env }) => {
    const { production, ...access } = accessOf(flags, env)
    const token = mcpTokenOf(flags.tokenFile, env)
    if (flags.listen === undefined && flags.tokenFile !== undefined) {
      throw invalidCombination(
        '--token-file requires --listen',
        'add --listen, or remove --token-file',
      )
    }
    if (flags.listen !== undefined && token === undefined && !isLoopback(flags.listen)) {
      throw missing(
        '--listen: a non-loopback address needs a token',
        'add --token-file, or listen on 127.0.0.1',
      )
    }
    const { sidecar: sidecars, namespace: namespaces, monitor: monitors } = flags
    return {
      policy: flags.policy,
      trust: stateOf(undefined, env),
      production,
      access,
      bounds: { sidecars, namespaces, monitors, context: flags.context },
      targets: flags.target,
      adminToken: adminTokenOf(flags.adminTokenFile, env),
      listen: flags.listen,
      token,
      audit: flags.audit,
    }
  },
})

export type ControlRequest = RequestOf<typeof MCP>

export const MCP_APPROVE = operation({
  name: 'mcp approve',
  examples: ['mcp approve 3f9c1a07be', 'mcp approve 3f9c1a07be --state-dir /var/lib/squall'],
  page: PAGE,
  description: "approve one run of an agent's experiment, or one search, at a terminal",
  operands: { form: '<id>', most: 1 },
  flags: STATE,
  parse: ({ stateDir }, { operands: [id], env }) => {
    if (id === undefined) throw missing('no proposal', 'pass the id that run_experiment returned')
    return { id, stateDirectory: stateOf(stateDir, env) }
  },
})

function targetsOf(given: readonly FlagInput[]): readonly URL[] {
  atMost(MOST, given)
  return given.map(parseTarget)
}

function namesOf(given: readonly FlagInput[]): readonly string[] {
  atMost(MOST, given)
  return given.map((each) => parseObjectName(each))
}

function sidecarsOf(
  given: readonly FlagInput[],
): readonly { readonly admin: AdminEndpoint; readonly rulesFile: string }[] {
  atMost(MOST, given)
  return given.map((each) => {
    const at = each.text.indexOf('=')
    if (at < 1 || at === each.text.length - 1) {
      throw invalidValue(
        each,
        'is not a sidecar with its rules file',
        'write host:port=file, such as 127.0.0.1:15390=rules.yaml',
      )
    }
    const [admin] = parseEndpoints([each.text.slice(0, at)])
    return { admin: admin!, rulesFile: each.text.slice(at + 1) }
  })
}

function isLoopback(address: ListenAddress): boolean {
  if (address.kind === 'unix') return true
  return /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/i.test(address.host)
}
