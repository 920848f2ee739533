import { resolve } from 'node:path'
import type { Policy } from '#rules'
import { quoted, shellWord } from '#base'
import { changedByGit } from './git-changes.ts'
import { decodedForms, payloadProblems } from './payload-check.ts'
import { isParent, isTooLong, leadsToProtected, type Protected } from './protected-files.ts'
import { UncheckedError } from './shell-commands.ts'
import { runsOf } from './shell-runs.ts'
import { writtenBy } from './shell-writes.ts'
import { API, squallIn } from './squall-commands.ts'

/** The call of a tool, as the hook of an agent describes it. */
export interface ToolCall {
  /** Empty where the agent names no tool. */
  readonly tool: string
  readonly input: unknown
  /** What the agent says about the server of the tool: its URL, or its command. */
  readonly url: string | undefined
  readonly command: string | undefined
}

const SHELL = /^(?:Bash|Shell|PowerShell|Terminal)$/i
const WRITER = /^(?:Edit|Write|MultiEdit|NotebookEdit|Delete|apply_?patch)$/i
const HARMLESS =
  /^(?:Read|Grep|Glob|LS|Task|Agent|Todo\w*|Web\w+|NotebookRead|BashOutput|KillShell|Skill)$/i
/** The server `squall`, also of the plugin, and how an agent starts it. */
const SQUALL_SERVER = /^(?:mcp__|MCP:)(?:plugin_squall_)?squall(?:__|:)/i
const STARTS_SQUALL = /(?:^|[\s/])(?:mcp-)?squall(?:\.cjs|@[\w.-]*)?\s+mcp(?:\s|$)/
/** Tools of `squall mcp` that inject nothing. */
const SAFE =
  /^(?:list_targets|observe|what_agents_did|describe_\w+|validate_rules|explain_rules|suggest_slo|what_next|list_experiments|get_experiment|explain_cell|stop_experiment|disarm)$/
/** Tools of `squall mcp` that add the gates themselves, or whose calls reach no real tool. */
const GATED = /^(?:run_impact|sweep_task)$/
const CHAOS = /squall|chaos|fault|toxi|litmus/i
const CHAOS_KEY = /^(?:faults?|fault_?type|chaos|toxics?|abort_?on|blast_?radius)$/i
const READING = /(?:^|_)(?:read|get|list|search|view|find|show|stat|describe)(?:_|$|[A-Z])/
const CHANGING = /write|edit|replace|delete|move/i
const PATH_KEY = /path|file|target|dest|uri|source|^(?:name|url)$/i
const COMMAND_KEY =
  /^(?:command|cmd|script|code|arg(?:s|v|uments)|shell|input|keys|function|source)$/i
const REMOVING = /delete|remove|move|rename/i
const PATCH_KEY = /^(?:patch|diff|input)?$/i
const PATCH =
  /^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |(?:\+\+\+|---) (?:[ab]\/)?)(\S.*)$/gm
/** The parts of a request that changes something, in the JSON of the input of a tool. */
const SENDS = /"(?:method|verb)":"(?:post|put|patch)|"(?:body|data|json|payload|form)":/i

/** Returns the reasons for which a policy refuses a call; none for what does not reach Squall. */
export async function callProblems(
  { tool, input, url, command }: ToolCall,
  policy: Policy,
  files: Protected,
): Promise<readonly string[]> {
  const isChaos = CHAOS.test(`${tool} ${url} ${command}`)
  const name = tool.replace(/^.*(?:__|:)/s, '')
  const isOwn = tool === name ? STARTS_SQUALL.test(command ?? '') : SQUALL_SERVER.test(tool)
  if (HARMLESS.test(tool) || (isOwn && SAFE.test(name))) return []
  const strings = [...stringsIn(input, '')]
  const isReading = READING.test(name) && !CHANGING.test(name)
  if (!isReading) {
    for (const path of strings.flatMap(pathsIn)) {
      if (leadsToProtected(path, files)) return [onlyAPerson(path)]
    }
    const swept = REMOVING.test(name) && strings.find((each) => isSweptBy(each, files))
    if (swept) return [onlyAPerson(swept.text)]
    const request = strings.find(({ text }) => /^\S+$/.test(text) && API.test(text))?.text
    if (request !== undefined && SENDS.test(JSON.stringify(input))) return [pastPlans(request)]
  }
  if (WRITER.test(tool)) return []
  const commands = strings.filter(
    ({ key, text }) =>
      SHELL.test(tool) || (COMMAND_KEY.test(key) && (!isReading || /\s/.test(text))),
  )
  const each = commands.map(({ text }) => commandProblems(text, policy, files))
  const found = (await Promise.all(each)).flat()
  const isOther = /^(?:mcp__|MCP:)/i.test(tool) && !isChaos
  if (SHELL.test(tool) || (isOther && !hasChaosKey(input))) return found
  const payload = url === undefined ? input : { input, url }
  return [...new Set([...found, ...checked(payload, policy, files, isOwn && GATED.test(name))])]
}

/** Returns the reasons to refuse a command of a shell. */
async function commandProblems(
  text: string,
  policy: Policy,
  files: Protected,
): Promise<readonly string[]> {
  if (isTooLong(text, files)) return ['the command is too long to check; shorten the command']
  const trees = new Set<string>()
  const seen = new Map<string, boolean>()
  try {
    const runs = decodedForms(text).flatMap((form) => runsOf(form, resolve(files.directory)))
    for (const run of runs) {
      const written = writtenBy(run, { ...files, seen }, trees)
      if (written !== undefined) return [onlyAPerson(written)]
    }
    const changed = await changedByGit(trees, files)
    if (changed !== undefined) return [onlyAPerson(changed)]
    const found = runs.map((run) => squallIn(run))
    const past = found.find((each) => each?.injects !== undefined)?.injects
    if (past !== undefined) return [pastPlans(past)]
    if (!found.some((each) => each?.reaches)) return []
    const commands = runs.flatMap(({ words }, at) => (found[at] ? [words.join(' ')] : []))
    return checked({ command: commands.join('\n') }, policy, files)
  } catch (error) {
    if (error instanceof UncheckedError) return [error.message]
    throw error
  }
}

function checked(
  payload: unknown,
  policy: Policy,
  files: Protected,
  hasGate = false,
): readonly string[] {
  if (!files.isChanged) return payloadProblems(payload, policy, hasGate)
  return [
    'the policy has changed since it was trusted; ask a person to run squall mcp policy trust',
  ]
}

function onlyAPerson(path: string): string {
  return `the call may change ${quoted(path)}, which only a person may change; ask a person`
}

function pastPlans(command: string): string {
  return `${quoted(command)} changes faults without a plan, its gates and its approval; call propose_experiment, or ask a person to run it`
}

/** Returns what may be paths: values by their keys, and the files of a patch. */
function pathsIn({ key, text }: { key: string; text: string }): readonly string[] {
  const patch = PATCH_KEY.test(key) ? text : ''
  const patched = [...patch.matchAll(PATCH)].map(([, path = '']) => path.trim())
  const isPath = PATH_KEY.test(key) && (key !== 'name' || /[./]/.test(text))
  if (!isPath) return patched
  return [...decodedForms(text).map((each) => each.replace(/^file:\/\//, '')), ...patched]
}

/** Returns true for a directory with a protected file that a tool removes or moves. */
function isSweptBy({ key, text }: { key: string; text: string }, files: Protected): boolean {
  return /path|source|^dir/i.test(key) && isParent(text.replace(/^file:\/\//, ''), files)
}

function* stringsIn(
  value: unknown,
  key: string,
  depth = 0,
): Generator<{ key: string; text: string }> {
  if (typeof value === 'string') yield { key, text: value }
  if (typeof value !== 'object' || value === null || depth > 64) return
  for (const [name, each] of Object.entries(value)) {
    yield* stringsIn(each, Array.isArray(value) ? key : name, depth + 1)
  }
  const words = Array.isArray(value) ? [] : wordsIn(value)
  if (words.length > 1) yield { key: 'command', text: words.join(' ') }
}

/** Returns a command and its arguments, where lists have the words of a command. */
function wordsIn(value: object): readonly string[] {
  const given = Object.entries(value).filter(([key]) => COMMAND_KEY.test(key))
  const lists = given.flatMap(([, each]): unknown[] => (Array.isArray(each) ? each : []))
  if (lists.length === 0) return []
  const texts = given.flatMap(([, each]) => (typeof each === 'string' ? [each] : []))
  return [...texts, ...lists.filter((each) => typeof each === 'string').map(shellWord)]
}

function hasChaosKey(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || depth > 64) return false
  return Object.entries(value).some(
    ([key, each]) => (!Array.isArray(value) && CHAOS_KEY.test(key)) || hasChaosKey(each, depth + 1),
  )
}
