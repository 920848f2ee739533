import { once } from 'node:events'
import { createServer } from 'node:net'
import { type AdminEndpoint, AdminError, API, askAdmin, endpointText } from '#admin-api'
import { nearestName, oneLine, quoted, shellWord, systemReason } from '#base'
import type { ListenAddress } from '#protocol'
import type { CheckRequest } from '../commands/check.ts'
import { LoadError } from '../load/load-error.ts'
import { compileText, problemFrames, type RulesFile, sentence } from '#rules'
import { type ListedServer, listTools } from '../cli/list-tools.ts'
import { readRulesSource, warningsOf } from '#cli'
import { byProblems, type Check, type CheckGroup, failed, passed, skipped } from './result.ts'

/** The server, the rules and the sidecar to check. */
type LocalRequest = Omit<CheckRequest, 'cluster' | 'json'>

/** The next step for each reason to be disarmed. */
const NEXT: Readonly<Record<string, string>> = {
  operator: 'arm the sidecar again with squall resume',
  guard: 'once the real errors have stopped, arm the sidecar again with squall resume',
  'rollback-on': 'once the condition has cleared, arm the sidecar again with squall resume',
  stopped: 'end the stop with squall resume -n NAMESPACE',
  file: 'set enabled: true in the rules file',
  environment: 'no rule acts in production; check --environment, ENVIRONMENT and NODE_ENV',
  draining: 'the sidecar is shutting down; start it again',
}
const MAX_PROBLEMS = 5
const MAX_TEXT = 300

/** Checks server, rules and sidecar on this machine. */
export async function checkLocal(request: LocalRequest): Promise<readonly CheckGroup[]> {
  const server = await checkServer(request)
  const rules = await checkRules(request)
  return [
    { group: 'server', checks: server.checks },
    { group: 'rules', checks: [...rules.checks, ...checkTools(rules.rules, server.listed)] },
    { group: 'sidecar', checks: await checkSidecar(request, rules.digest) },
  ]
}

async function checkServer(request: LocalRequest) {
  const check = 'the server speaks MCP'
  const { url } = request
  if (url === undefined) {
    return { checks: [skipped(check, 'no server specified', 'set --target')] }
  }
  try {
    const listed = await listTools(url, request)
    const { server, protocolVersion, tools } = listed
    const found = `${oneLine(server, 100)}, protocol ${protocolVersion}, ${tools.length} tools`
    return { checks: [passed(check, found)], listed }
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    return { checks: [failed(check, error.wrong, error.fix)] }
  }
}

async function checkRules({ rules: path }: LocalRequest) {
  const check = 'the rules are valid'
  if (path === undefined) {
    return { checks: [skipped(check, 'no rules file specified', 'set --rules')] }
  }
  const { version, files } = await readRulesSource(path)
  if (version.kind === 'rules') {
    const { rules } = version.file
    const { small } = warningsOf({ version, files })
    const found = [`${rules.length} in ${quoted(path)}`, ...small.map(({ message }) => message)]
    return { checks: [passed(check, found.join('; '))], rules, digest: version.digest || undefined }
  }
  const fix = `check again with squall validate ${shellWord(path)}`
  if (version.kind === 'absent') return { checks: [failed(check, version.reason, fix)] }
  const problems = files.flatMap((each) =>
    each.problems.map((problem) => `${each.file}:${problem.line}: ${sentence(problem)}`),
  )
  const lines = files.flatMap((each) =>
    problemFrames({ ...each, problems: each.problems.slice(0, MAX_PROBLEMS) }, each.text ?? '')
      .trimEnd()
      .split('\n'),
  )
  const found = problems.slice(0, MAX_PROBLEMS).join('; ')
  return { checks: [{ ...failed(check, found, fix), lines }] }
}

/** Checks that each rule about a tool matches a tool that exists. */
function checkTools(
  rules: RulesFile['rules'] | undefined,
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
    return [`${quoted(name)} matches ${tool.wants}, which the server does not have${meant}`]
  })
  const check = 'rules match tools that exist'
  if (missing.length === 0) return [passed(check, `${about.length} rules with match.tool checked`)]
  const shown = missing.slice(0, MAX_PROBLEMS).join('; ')
  return [failed(check, shown, `the server lists ${oneLine(names.join(', '), MAX_TEXT)}`)]
}

async function checkSidecar(
  { admin, defaultAdmin, listen, readToken, rules: path }: LocalRequest,
  digest: string | undefined,
): Promise<readonly Check[]> {
  const check = 'the sidecar runs'
  const address = endpointText(admin ?? defaultAdmin)
  try {
    const target = { url: new URL(`http://${address}`), readToken }
    const { armed, reasons, rules, readiness, listeners, lastReload } = (
      await askAdmin(target, API.state, { client: 'check' })
    ).value
    const why = reasons.map(({ by, reason }) => `${by}: ${reason}`).join('; ')
    const ports = (listeners ?? []).map(({ listen: from, upstream }) => `${from} to ${upstream}`)
    return [
      passed(check, `on ${address}, ${rules.count} rules`),
      ...(ports.length > 0 ? [passed('the ports are bound', ports.join(', '))] : []),
      readiness.ready
        ? passed('the sidecar reaches the server', readiness.reason)
        : failed('the sidecar reaches the server', readiness.reason, 'check --upstream'),
      checkNewest(lastReload?.result === 'rejected', rules.digest ?? undefined, digest, path),
      armed
        ? passed('rules may act', 'armed')
        : failed(
            'rules may act',
            `disarmed, ${why}`,
            reasons.map(({ by }) => NEXT[by] ?? `end ${by}`).join('; '),
          ),
    ]
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    const fix = 'start a sidecar with squall run, or set its admin port with --sidecar'
    const found = `${address}: ${error.message}`
    const { host } = admin ?? defaultAdmin
    const isHere = ['127.0.0.1', '::1', 'localhost'].includes(host)
    return [
      (admin === undefined ? skipped : failed)(check, found, fix),
      ...(isHere && error.cause !== undefined
        ? [await checkPorts(listen, admin ?? defaultAdmin)]
        : []),
    ]
  }
}

/** Checks that the sidecar has rejected no rules, and has those of the named file. */
function checkNewest(
  isRejected: boolean,
  active = '',
  named: string | undefined,
  path = '',
): Check {
  const check = 'the sidecar runs the latest rules'
  if (isRejected) {
    const fix =
      'find the errors with squall validate; the sidecar reloads the rules file when it changes'
    return failed(check, 'the latest rules are invalid; the last valid rules stay active', fix)
  }
  if (named === undefined || named === active) {
    return passed(check, `version ${active.slice(0, 8) || 'none'}`)
  }
  const fix = `pass the sidecar's rules file, or start it with --rules ${path}`
  return failed(check, `its rules differ from ${quoted(path)}`, fix)
}

/** Checks that a sidecar could take its ports. */
async function checkPorts(listen: ListenAddress, admin: AdminEndpoint): Promise<Check> {
  const addresses = [...(listen.kind === 'tcp' ? [listen] : []), admin]
  const taken = await Promise.all(addresses.map(whyTaken))
  const problems = taken.filter((each) => each !== undefined)
  const fix = 'choose other ports with --listen and --admin'
  const good = `${addresses.map(endpointText).join(' and ')}, for squall run`
  return byProblems('the ports are free', good, problems, fix)
}

/** Returns why a server cannot listen at an address; undefined where it can. */
async function whyTaken(address: AdminEndpoint): Promise<string | undefined> {
  const server = createServer()
  try {
    server.listen(address.port, address.host)
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return `${endpointText(address)}: ${systemReason(error)}`
  } finally {
    server.close()
  }
}
