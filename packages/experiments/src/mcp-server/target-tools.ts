import type { Policy } from '#rules'
import * as Type from 'typebox'
import { matchesGlob, oneLine, shownUrl } from '#base'
import { AdminError, API, askAdmin, endpointText } from '#admin-api'
import { LoadError } from '../load/load-error.ts'
import { changeSidecar } from '#cli'
import { listTools } from '../cli/list-tools.ts'
import { type Control, defineTool, FOREIGN, READ_ONLY, ROLLBACK } from './control-tool.ts'
import { adminUrl } from './open-sidecars.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { closed, listOf, maybeText, wordsOf } from './shapes.ts'

const MAX_TOOLS = 100
const MAX_NAME = 128
const MAX_RULES = 50
const DISARM_MS = 5_000

export const LIST_TARGETS = defineTool({
  name: 'list_targets',
  title: 'List targets',
  description:
    "Lists what may be tested: the targets in the policy, the sidecars with their state and rules, and the servers' tools with their hints.",
  annotations: READ_ONLY,
  input: closed({
    tools: maybeText('Lists only tools that match, such as read_*.', 256),
  }),
  output: Type.Object({
    note: Type.String(),
    targets: Type.Array(Type.String()),
    environments: Type.Array(Type.String()),
    namespaces: Type.Array(Type.String()),
    sidecars: Type.Array(Type.Object({})),
    servers: Type.Array(Type.Object({})),
  }),
  run: async ({ tools: glob = '*' }, { control }) => {
    const policy = control.limits.read()
    const [sidecars, servers] = await Promise.all([
      Promise.all(control.bounds.sidecars.map((each) => sidecarState(each, control))),
      Promise.all(control.targets.map((url) => serverTools(url, glob, policy, control))),
    ])
    const { targets, environments } = policy
    const { namespaces } = control.bounds
    const data = { note: FOREIGN, targets, environments, namespaces, sidecars, servers }
    const lines = [
      wordsOf({ targets, environments, namespaces, policy: control.limits.digest }),
      ...sidecars.map((each) => `sidecar: ${wordsOf(each)}`),
      ...servers.flatMap(({ tools = [], ...server }) => [
        `server: ${wordsOf(server)}`,
        ...tools.map((tool) => `- ${wordsOf(tool)}`),
      ]),
    ]
    return { text: [FOREIGN, ...lines].join('\n'), data }
  },
})

async function sidecarState(
  sidecar: Control['bounds']['sidecars'][number],
  { access }: Control,
): Promise<object> {
  const url = adminUrl(sidecar)
  const known = { admin: url.origin, rulesFile: sidecar.rulesFile }
  try {
    const admin = { url, readToken: access.readToken }
    const { value: state } = await askAdmin(admin, API.state, { client: 'mcp' })
    const { value: active } = await askAdmin(admin, API.rules, { client: 'mcp' })
    const reasons = state.reasons.map(({ by, reason }) => `${by}: ${reason}`)
    const rules = active.rules.slice(0, MAX_RULES).map(({ name, phase }) => ({ name, phase }))
    const environment = state.environment ?? undefined
    return { ...known, environment, armed: state.armed, reasons, rules }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return { ...known, problem: error.message }
  }
}

async function serverTools(
  url: URL,
  glob: string,
  { targets, neverTools = [] }: Policy,
  { access }: Control,
): Promise<Readonly<Record<string, unknown>> & { readonly tools?: readonly object[] }> {
  const shown = shownUrl(url)
  if (!targets.some((target) => matchesGlob(target, shown))) {
    return { url: shown, problem: 'the policy does not allow this target' }
  }
  try {
    const { server, protocolVersion, tools } = await listTools(url, access)
    const matching = tools.filter(({ name }) => matchesGlob(glob, name))
    const listed = matching.slice(0, MAX_TOOLS).map(({ name, description, hint }) => ({
      name: oneLine(name, MAX_NAME),
      untrustedDescription: description,
      hint,
      forbidden: neverTools.some((never) => matchesGlob(never, name)),
    }))
    return { url: shown, server, protocolVersion, matching: matching.length, tools: listed }
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    return { url: shown, problem: oneLine(error.message) }
  }
}

export const DISARM = defineTool({
  name: 'disarm',
  title: 'Disarm the sidecars',
  description:
    'Stops all faults of the sidecars on this machine at once, until a person arms them again. Always allowed.',
  annotations: ROLLBACK,
  input: closed({
    reason: Type.String({
      description: 'The reason, for the log.',
      minLength: 1,
      maxLength: 150,
    }),
  }),
  output: Type.Object({
    sidecars: listOf({ address: Type.String(), ok: Type.Boolean(), text: Type.String() }),
  }),
  run: async ({ reason }, { control: { bounds, adminToken: token = '' } }) => {
    const change = {
      what: 'disarm',
      token,
      reason: `${oneLine(reason)} (squall mcp)`,
      timeout: DISARM_MS,
    } as const
    const sidecars = await Promise.all(
      bounds.sidecars.map(({ admin }) => changeSidecar(admin, change)),
    )
    const lines = sidecars.map((each) => `${each.address}: ${each.text}`)
    const failed = sidecars.filter(({ ok }) => !ok)
    if (failed.length > 0) throw new DeniedError(...lines)
    const target = bounds.sidecars.map(({ admin }) => endpointText(admin)).join(', ')
    return { text: lines.join('\n'), data: { sidecars }, entry: { target } }
  },
})
