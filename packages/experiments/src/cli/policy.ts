import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import {
  deployFile,
  isRecord,
  makeDirectory,
  ownCommand,
  parsedJson,
  plain,
  quoted,
  shellWord,
} from '#base'
import { MAX_POLICY_BYTES, type Policy, problemFrames, readPolicy } from '#rules'
import type {
  POLICY_INIT,
  POLICY_PRINT,
  POLICY_TRUST,
  POLICY_VALIDATE,
} from '../commands/policy.ts'
import { policyBlock } from '../policy/policy-block.ts'
import { policyDigest, trustedDigest, trustPolicy } from '../policy/trust.ts'
import { isAgreed, needPerson } from './person.ts'
import { invalidFile, InvalidFilesError, print, readText, type RequestOf, writeText } from '#cli'
import { schemaLine } from './schema-line.ts'

/** Reads a policy. Throws a `UsageError` with all errors of an invalid one. */
export async function readPolicyFile(path: string): Promise<Policy> {
  return policyIn(path, await textOf(path))
}

function policyIn(path: string, text: string): Policy {
  const read = readPolicy(text)
  if (read.ok) return read.policy
  const wrong = { file: path, problems: read.problems }
  const listed = problemFrames(wrong, text)
  throw new InvalidFilesError(`${quoted(path)} is not a valid policy`, [wrong], listed)
}

/** Checks policies; returns the exit code. */
export async function validatePolicies({
  paths,
  json,
}: RequestOf<typeof POLICY_VALIDATE>): Promise<number> {
  const files = []
  for (const path of paths) {
    const text = await textOf(path)
    const read = readPolicy(text)
    const problems = read.ok ? [] : read.problems
    files.push({ file: path, ok: read.ok, problems })
    if (json) continue
    await print(read.ok ? `${plain(path)}: ok\n` : problemFrames({ file: path, problems }, text))
  }
  const ok = files.every((each) => each.ok)
  if (json) await print(`${JSON.stringify({ ok, files }, null, 2)}\n`)
  return ok ? 0 : 1
}

/** Prints a policy for the instructions file of an agent; returns the exit code. */
export async function printPolicy({
  path,
  agent,
}: RequestOf<typeof POLICY_PRINT>): Promise<number> {
  await print(policyBlock(await readPolicyFile(path), agent))
  return 0
}

const SETTINGS = {
  claude: ['claude-settings.json', '.claude/settings.json'],
  cursor: ['cursor-hooks.json', '.cursor/hooks.json'],
} as const

/** Writes a policy where there is none, and adds the settings of an agent; returns the exit code. */
export async function initPolicy({ path, agent }: RequestOf<typeof POLICY_INIT>): Promise<number> {
  const shipped = await readFile(deployFile('agents/squall-policy.yaml'), 'utf8')
  const text = shipped.replace(/^# yaml-language-server.*\n/, schemaLine('policy', '.'))
  const [from, to] = SETTINGS[agent]
  const wanted: unknown = JSON.parse(await readFile(deployFile(`agents/${from}`), 'utf8'))
  const before = settingsIn(to, existsSync(to) ? await textOf(to) : '{}')
  const isNew = await writeNew(path, text)
  await makeDirectory(dirname(to))
  await writeText(to, 'policy init', `${JSON.stringify(merged(before, wanted), null, 2)}\n`)
  const done = isNew ? 'was created' : 'already exists and was kept'
  await print(
    `${path} ${done}; ${to} contains the hook. Edit the targets and environments in the policy, then trust the policy:\n  ${ownCommand()} mcp policy trust ${shellWord(path)}\n`,
  )
  return 0
}

function settingsIn(path: string, text: string): unknown {
  const settings = parsedJson(text)
  if (settings !== undefined) return settings
  throw invalidFile(
    `${quoted(path)} is not valid JSON`,
    'remove comments, and run the command again',
  )
}

/** Writes a file unless it exists; returns true when it was written. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Adds members and elements that are missing. */
function merged(old: unknown, more: unknown): unknown {
  if (Array.isArray(old) && Array.isArray(more)) {
    const known = new Set(old.map((each) => JSON.stringify(each)))
    return [...(old as unknown[]), ...more.filter((each) => !known.has(JSON.stringify(each)))]
  }
  if (!isRecord(old) || !isRecord(more)) return old ?? more
  const keys = [...new Set([...Object.keys(old), ...Object.keys(more)])]
  return Object.fromEntries(keys.map((key) => [key, merged(old[key], more[key])]))
}

/** Asks the person at the terminal to trust a policy as it is now; returns the exit code. */
export async function trustPolicyFile({
  path,
  trust,
}: RequestOf<typeof POLICY_TRUST>): Promise<number> {
  const text = await textOf(path)
  const digest = policyDigest(text)
  await print(`${plain(path)} (${digest})\n`)
  policyIn(path, text)
  await print(`${text.split('\n').map(plain).join('\n')}\n`)
  needPerson('trust a policy', 'squall mcp policy trust')
  const before = await trustedDigest(trust, path)
  const change =
    before === digest
      ? 'This policy is already trusted.'
      : 'A different version was trusted before.'
  if (before !== undefined) await print(`${change}\n`)
  if (!(await isAgreed('Trust this policy?'))) {
    await print('not trusted\n')
    return 1
  }
  await trustPolicy(trust, path, { digest, by: userInfo().username })
  await print('trusted: experiments run within these limits until the file changes\n')
  return 0
}

function textOf(path: string): Promise<string> {
  const fix = 'squall mcp policy init writes one'
  return readText(path, MAX_POLICY_BYTES, quoted(path), fix)
}
