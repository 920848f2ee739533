import { quoted } from '#base'
import { type Rejection } from '../experiment/rejection.ts'
import { moreRejections } from '../experiment/run-experiment.ts'
import { type KeptPlan, readAndKeep } from '../experiment/read-plan.ts'
import type { Plan } from '../experiment/plan.ts'
import { payloadProblems } from '../policy/payload-check.ts'
import type { Policy } from '../policy/policy-schema.ts'
import { tooManyRuns, withSidecars } from '../operations/run-here.ts'
import { readPolicyFile } from '../cli/policy.ts'
import type { Control } from './control.ts'
import { boundsRejections } from './plan-bounds.ts'
import { DeniedError } from './denied-error.ts'

/** A plan that the policy and the bounds of the server allow. */
export interface CheckedPlan {
  readonly plan: Plan
  readonly kept: KeptPlan
  readonly policy: Policy
}

/** Limits the text of a plan. */
export const MAX_PLAN = 256 * 1024

/** Names the text of a client in messages and in stored runs. */
const FILE = 'plan.yaml'

/** Checks the text of a plan. Throws a `DeniedError` with all reasons at once. */
export async function checkPlan(text: string, control: Control): Promise<CheckedPlan> {
  const policy = await readPolicyFile(control.policy)
  const hidden = payloadProblems({ plan: text }, policy)
  const noFiles = (path: string): Promise<string> =>
    Promise.reject(
      new Error(
        `squall mcp reads no files of plans: write the content in place of ${quoted(path)}`,
      ),
    )
  const { read, kept } = await readAndKeep(FILE, text, noFiles, control.production, policy)
  if (!read.ok) {
    const problems = read.problems.flatMap((each) => each.problems)
    throw new DeniedError(
      ...problems.map(
        ({ line, column, path, message }) =>
          `${FILE}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`,
      ),
      ...hidden,
    )
  }
  const { plan } = read
  const rejections = [...read.rejections, ...boundsRejections(plan, control.bounds)]
  if (rejections.length + hidden.length > 0)
    throw new DeniedError(...reasonsOf(rejections), ...hidden)
  // Only an allowed plan makes requests.
  const more = [
    ...(await tooManyRuns(control.access, plan, policy)),
    ...(await withSidecars(control.access, plan, moreRejections)),
  ]
  if (more.length > 0) throw new DeniedError(...reasonsOf(more))
  return { plan, kept, policy }
}

/** Describes rejections, each with its fix. */
export function reasonsOf(rejections: readonly Rejection[]): readonly string[] {
  return rejections.map(({ code, wrong, fix }) => `${code}: ${wrong}; ${fix}`)
}
