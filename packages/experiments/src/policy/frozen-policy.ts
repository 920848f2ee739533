import { asInvoked, readBoundedText, shellWord, systemReason } from '#base'
import { MAX_POLICY_BYTES, type Policy, problemLines, readPolicy } from '#rules'
import { DeniedError } from './denied-error.ts'
import { policyDigest, trustedDigest } from './trust.ts'

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
    text = await readBoundedText(path, MAX_POLICY_BYTES)
  } catch (error) {
    const why = systemReason(error)
    const deny = (): never => {
      throw new DeniedError(
        `the policy cannot be read (${why}); ask a person to restore it, or to run squall mcp policy init`,
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
      `this policy is not trusted (${digest}); ask a person to run ${asInvoked('squall mcp policy trust')} ${shellWord(path)} in a terminal`,
    )
  }
  return { digest, isChanged: kept !== undefined && kept !== digest, read, trusted }
}
