import { readText } from '#cli'
import { problemLines } from '#rules'
import type { Policy } from '../policy/policy-schema.ts'
import { MAX_POLICY_BYTES, readPolicy } from '../policy/read-policy.ts'
import { policyDigest, trustedDigest } from '../policy/trust.ts'
import { DeniedError } from '../policy/denied-error.ts'

/** A policy as one call finds it: later changes of its file do not affect the call. */
export interface FrozenPolicy {
  /** The digest for the audit log; `unreadable` without a file. */
  readonly digest: string
  /** True when a person trusts another content. */
  readonly isChanged: boolean
  /** Returns the policy. Throws a `DeniedError` for an invalid one. */
  read(): Policy
  /** Returns the policy for experiments. Throws a `DeniedError` for one that no person trusts. */
  trusted(): Policy
}

/** Reads the policy at a path, and whether a person trusts its digest. */
export async function freezePolicy({
  policy: path,
  trust,
}: {
  readonly policy: string
  /** The directory of the digests that a person trusts. */
  readonly trust: string
}): Promise<FrozenPolicy> {
  let text: string
  try {
    text = await readText(path, MAX_POLICY_BYTES, 'the policy')
  } catch (error) {
    const deny = (): never => {
      const [wrong] = (error as Error).message.split(';')
      throw new DeniedError(
        `${wrong}; ask a person to restore it, or to run squall mcp policy init`,
      )
    }
    return { digest: 'unreadable', isChanged: false, read: deny, trusted: deny }
  }
  const found = readPolicy(text)
  const digest = policyDigest(text)
  const kept = await trustedDigest(trust, path)
  const read = (): Policy => {
    if (found.ok) return found.policy
    throw new DeniedError(problemLines({ file: path, problems: found.problems }))
  }
  const trusted = (): Policy => {
    const policy = read()
    if (kept === digest) return policy
    throw new DeniedError(
      `no person trusts this policy (${digest}); ask a person to run squall mcp policy trust ${path} in a terminal`,
    )
  }
  return { digest, isChanged: kept !== undefined && kept !== digest, read, trusted }
}
