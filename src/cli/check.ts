import { asStarted } from '../base/started-as.ts'
import { AdminError, askAdmin } from '../admin/api-client.ts'
import { API } from '../admin/api.ts'
import { nearestName } from '../base/nearest-name.ts'
import { oneLine, plain, quoted } from '../base/text/foreign-text.ts'
import { LoadError } from '../lab/load/load-error.ts'
import { endpointText } from '../lab/top/sidecar-view.ts'
import { sentence } from '../rules/file/problem-format.ts'
import type { RuleSpec } from '../rules/file/rule-spec.ts'
import { compileText } from '../rules/match/text-match.ts'
import type { AdminEndpoint } from '../lab/top/sidecar-view.ts'
import { print } from './files.ts'
import { type ListedServer, listTools } from './list-tools.ts'
import { readRulesSource } from './rules/rules-source.ts'

/** The server, the rules and the sidecar to check. */
interface CheckRequest {
  readonly url: URL | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly authTokenFile: string | undefined
  readonly rules: string | undefined
  /** Undefined for the default port, on which no sidecar needs to run. */
  readonly admin: AdminEndpoint | undefined
  readonly defaultAdmin: AdminEndpoint
  readonly readToken: string | undefined
  readonly json: boolean
}

/** The result of one check. */
interface Check {
  readonly check: string
  readonly result: 'passed' | 'failed' | 'skipped'
  /** A short description of the state. */
  readonly found: string
  /** The next step. */
  readonly fix?: string
}

const FAILED = 1
const MAX_PROBLEMS = 5
const MAX_TEXT = 300
const SIGNS = { passed: '√', failed: '×', skipped: '‼' } as const

/** Checks server, rules and sidecar; returns the exit code. */
export async function checkCommand(request: CheckRequest): Promise<number> {
  const server = await checkServer(request)
  const rules = await checkRules(request)
  const checks = [
    ...server.checks,
    ...rules.checks,
    ...checkTools(rules.rules, server.listed),
    ...(await checkSidecar(request)),
  ]
  const isFailed = checks.some(({ result }) => result === 'failed')
  await print(request.json ? `${JSON.stringify({ ok: !isFailed, checks })}\n` : textOf(checks))
  return isFailed ? FAILED : 0
}

async function checkServer(request: CheckRequest): Promise<{
  readonly checks: readonly Check[]
  readonly listed?: ListedServer
}> {
  const check = 'the server speaks MCP'
  const { url } = request
  if (url === undefined) {
    return { checks: [skipped(check, 'no server is named', 'name it with --target')] }
  }
  try {
    const listed = await listTools({ ...request, url })
    const { server, protocolVersion, tools } = listed
    const found = `${oneLine(server, 100)}, protocol ${protocolVersion}, ${tools.length} tools`
    return { checks: [passed(check, found)], listed }
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    return { checks: [failed(check, error.wrong, error.fix)] }
  }
}

async function checkRules({ rules: path }: CheckRequest): Promise<{
  readonly checks: readonly Check[]
  readonly rules?: readonly RuleSpec[]
}> {
  const check = 'the rules are valid'
  if (path === undefined) {
    return { checks: [skipped(check, 'no rules are named', 'name a file with --rules')] }
  }
  const { version, files } = await readRulesSource(path)
  if (version.kind === 'rules') {
    const { rules } = version.file
    return { checks: [passed(check, `${rules.length} in ${quoted(path)}`)], rules }
  }
  const problems = files.flatMap((each) =>
    each.problems.map((problem) => `${each.file}:${problem.line}: ${sentence(problem)}`),
  )
  const found =
    version.kind === 'absent' ? version.reason : problems.slice(0, MAX_PROBLEMS).join('; ')
  return { checks: [failed(check, found, `squall validate ${path} shows each place`)] }
}

/** Checks that each rule about a tool matches a tool that exists. */
function checkTools(
  rules: readonly RuleSpec[] | undefined,
  listed: ListedServer | undefined,
): readonly Check[] {
  if (rules === undefined || listed === undefined) return []
  const names = listed.tools.map(({ name }) => name)
  const about = rules.filter(({ enabled, match }) => enabled && match?.tool !== undefined)
  const missing = about.flatMap(({ name, match }) => {
    const tool = compileText(match!.tool!)
    if (names.some((each) => tool.test(each))) return []
    const near = tool.exact.map((each) => nearestName(each, names)).find((each) => each)
    const meant = near === undefined ? '' : `, did you mean ${quoted(near)}?`
    return [`${quoted(name)} wants ${tool.wants}: no such tool${meant}`]
  })
  const check = 'rules match tools that exist'
  if (missing.length === 0) return [passed(check, `${about.length} rules name tools`)]
  const shown = missing.slice(0, MAX_PROBLEMS).join('; ')
  return [failed(check, shown, `the server lists ${oneLine(names.join(', '), MAX_TEXT)}`)]
}

async function checkSidecar({
  admin,
  defaultAdmin,
  readToken,
}: CheckRequest): Promise<readonly Check[]> {
  const check = 'the sidecar runs'
  const address = endpointText(admin ?? defaultAdmin)
  try {
    const target = { url: new URL(`http://${address}`), readToken }
    const { armed, reasons, rules, readiness } = (
      await askAdmin(target, API.state, { client: 'check' })
    ).value
    const why = reasons.map(({ by, reason }) => `${by}: ${reason}`).join('; ')
    return [
      passed(check, `on ${address}, ${rules.count} rules`),
      readiness.ready
        ? passed('the sidecar reaches the server', readiness.reason)
        : failed('the sidecar reaches the server', readiness.reason, 'check --upstream'),
      armed
        ? passed('rules may act', 'armed')
        : failed(
            'rules may act',
            `disarmed, ${why}`,
            'squall arm arms what squall disarm disarmed',
          ),
    ]
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    const fix = 'squall run starts one; --admin names another address'
    const found = `${address}: ${error.message}`
    return [admin === undefined ? skipped(check, found, fix) : failed(check, found, fix)]
  }
}

function passed(check: string, found: string): Check {
  return { check, result: 'passed', found }
}

function failed(check: string, found: string, fix: string): Check {
  return { check, result: 'failed', found, fix }
}

function skipped(check: string, found: string, fix: string): Check {
  return { check, result: 'skipped', found, fix }
}

function textOf(checks: readonly Check[]): string {
  const lines = checks.map(({ check, result, found, fix }) => {
    const next = fix === undefined ? '' : `\n    ${plain(asStarted(fix))}`
    return `${SIGNS[result]} ${check}: ${plain(found)}${next}\n`
  })
  const count = checks.filter(({ result }) => result === 'failed').length
  const end = count === 0 ? 'No check failed.' : `${count} of ${checks.length} checks failed.`
  return `${lines.join('')}\n${end}\n`
}
