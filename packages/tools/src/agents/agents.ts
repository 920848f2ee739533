import {
  AdminError,
  adminProblem,
  type Agents,
  API,
  askAdmin,
  checkResponse,
  endpointText,
  parseAgentsFilter,
} from '#admin-api'
import { quoted, widthOf } from '#base'
import { invalidFile, paintLine, readText, type RequestOf, writeText } from '#cli'
import {
  agentsHtml,
  agentsMarkdown,
  type AgentsReport,
  agentsText,
  isWorse,
} from './agents-text.ts'
import type { AGENTS, AgentsRequest } from '../commands/agents.ts'
import { compare } from './compare.ts'

/** Identifies the format of saved findings. Incompatible changes increase the number. */
const SCHEMA = 'squall.agents/1'
const MAX_FILE = 16 * 1024 * 1024
const WIDEST = 100
const SHOWN = 20
const SEVERITIES: readonly string[] = ['high', 'medium', 'low']

/** Runs `squall agents`, which with --follow shows verdicts; returns the exit code. */
export async function agentsCommand(request: RequestOf<typeof AGENTS>): Promise<number> {
  if (!request.follows) return agents(request)
  return (await import('../tap/tap.ts')).followVerdicts(request)
}

/** Shows what agents did; returns the exit code. */
async function agents(request: AgentsRequest): Promise<number> {
  const { save, against, out, all } = request
  const saved = against === undefined ? undefined : await readSaved(against)
  const found = await askAll(request, all || save !== undefined || saved !== undefined)
  if (save !== undefined)
    await writeText(save, '--save', `${JSON.stringify({ schema: SCHEMA, ...found })}\n`)
  const { passes } = parseAgentsFilter(new URLSearchParams(request.query))
  const differences = saved && compare(saved, found, passes)
  const shown = all ? found : { ...found, findings: found.findings.slice(0, SHOWN), rest: [] }
  await writeText(out, '--out', written(request, { agents: shown, differences }))
  return differences?.some(isWorse) === true ? 1 : 0
}

/** Asks all sidecars. Throws for one that cannot be asked. */
async function askAll(
  { endpoints, readToken, query }: AgentsRequest,
  all: boolean,
): Promise<Agents> {
  const asked = new URLSearchParams(query)
  if (all) asked.set('all', 'true')
  const search = asked.size > 0 ? `?${asked.toString()}` : ''
  const endpoint = { ...API.agents, path: `${API.agents.path}${search}` }
  const answers: Agents[] = []
  for (const each of endpoints) {
    const address = endpointText(each)
    try {
      const admin = { url: new URL(`http://${address}`), readToken }
      answers.push((await askAdmin(admin, endpoint, { client: 'agents' })).value)
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      throw new Error(`${address}: ${adminProblem(error)}`, { cause: error })
    }
  }
  return joined(answers)
}

function joined(answers: readonly Agents[]): Agents {
  const [first] = answers
  if (answers.length === 1) return first!
  const sum = (of: (each: Agents) => number): number =>
    answers.reduce((total, each) => total + of(each), 0)
  return {
    ...first!,
    since: answers.reduce(
      (min, { since }) => ((since ?? '') < (min ?? '') ? since : min),
      first!.since,
    ),
    waiting: sum(({ waiting }) => waiting),
    total: sum(({ total }) => total),
    findings: answers.flatMap(({ findings }) => findings).sort((a, b) => rank(a) - rank(b)),
    rest: answers.flatMap(({ rest }) => rest),
  }
}

/** Ranks by severity; findings about a load come last, as in the findings of one sidecar. */
function rank({ severity, source }: Agents['findings'][number]): number {
  return SEVERITIES.indexOf(severity) + (source === 'load' ? SEVERITIES.length : 0)
}

async function readSaved(path: string): Promise<Agents> {
  const label = `--against: ${quoted(path)}`
  const text = await readText(path, MAX_FILE, label)
  try {
    const value = JSON.parse(text) as { readonly schema?: unknown }
    if (value.schema === SCHEMA) return checkResponse(API.agents, value)
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof AdminError)) throw error
  }
  throw invalidFile(`${label} holds no findings`, 'specify a file written by squall agents --save')
}

function written({ form, colours, out }: AgentsRequest, report: AgentsReport): string {
  const { agents: found, differences } = report
  if (form === 'json') {
    return `${JSON.stringify({ schema: SCHEMA, ...found, ...(differences && { differences }) })}\n`
  }
  if (form === 'markdown') return agentsMarkdown(report)
  if (form === 'html') return agentsHtml(report)
  const width = Math.min(widthOf(process.stdout), WIDEST)
  const isPainted = colours && out === undefined
  const lines = agentsText(report, width).map((line) => paintLine(line, isPainted).trimEnd())
  return `${lines.join('\n')}\n`
}
