import { userInfo } from 'node:os'
import { plain, quoted } from '#base'
import { problemFrames } from '#rules'
import type { RequestOf } from '../commands/operation.ts'
import type { POLICY_PRINT, POLICY_TRUST, POLICY_VALIDATE } from '../commands/policy.ts'
import { policyBlock } from '../policy/policy-block.ts'
import type { Policy } from '../policy/policy-schema.ts'
import { MAX_POLICY_BYTES, readPolicy } from '../policy/read-policy.ts'
import { policyDigest, trustedDigest, trustPolicy } from '../policy/trust.ts'
import { isAgreed, needPerson } from './person.ts'
import { invalidFile, print, readText } from '#cli'

/** Reads a policy. Throws a `UsageError` with all errors of an invalid one. */
export async function readPolicyFile(path: string): Promise<Policy> {
  return policyIn(path, await textOf(path))
}

function policyIn(path: string, text: string): Policy {
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
  needPerson('trusts a policy', 'squall policy trust')
  const before = await trustedDigest(trust, path)
  const change =
    before === digest ? 'It is trusted already.' : 'Another content was trusted before.'
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
  return readText(path, MAX_POLICY_BYTES, quoted(path))
}
