import { plain, quoted } from '#base'
import { problemFrames } from '#rules'
import type { RequestOf } from '../commands/operation.ts'
import type { POLICY_PRINT, POLICY_VALIDATE } from '../commands/policy.ts'
import { policyBlock } from '../policy/policy-block.ts'
import type { Policy } from '../policy/policy-schema.ts'
import { MAX_POLICY_BYTES, readPolicy } from '../policy/read-policy.ts'
import { invalidFile, print, readText } from '#cli'

/** Reads a policy. Throws a `UsageError` with all errors of an invalid one. */
export async function readPolicyFile(path: string): Promise<Policy> {
  const text = await textOf(path)
  const read = readPolicy(text)
  if (read.ok) return read.policy
  process.stderr.write(problemFrames({ file: path, problems: read.problems }, text))
  throw invalidFile(`${quoted(path)} is no policy`, 'fix the errors above')
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

function textOf(path: string): Promise<string> {
  return readText(path, MAX_POLICY_BYTES, quoted(path))
}
