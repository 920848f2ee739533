import type { EXPERIMENT_VALIDATE, RunRequest } from '../commands/experiment.ts'
import { readSavedPlan } from '../experiment/saved-plan.ts'
import { readHistory } from '../experiment/history.ts'
import { asInvoked, plain, quoted, readBoundedText } from '#base'
import {
  MAX_PLAN_BYTES,
  type ReadAndSaved,
  type PlanLimits,
  type ReadPlan,
  readAndKeep,
} from '../experiment/read-plan.ts'
import { problemLines } from '#rules'
import type { LocatedRejection } from '../experiment/plan-rejections.ts'
import type { Rejection } from '../experiment/rejection.ts'
import { InvalidFilesError, print, readText, type RequestOf } from '#cli'
import { pastId, readPast } from './past.ts'
import { readPolicyFile } from '../cli/policy.ts'

/** Reads the requested plan. Throws a `UsageError` when it cannot be read. */
export async function readAsked({
  plan,
  experiments,
  ...flags
}: Pick<RunRequest, 'plan' | 'experiments' | 'production' | 'policy'>): Promise<
  ReadAndSaved & { readonly again?: string }
> {
  const limits = await limitsOf(flags)
  if (plan.kind === 'file') return readPlanFile(plan.path, limits)
  const id = await pastId(experiments, plan.id)
  const { read, kept } = await readPast(readSavedPlan(experiments, id, limits))
  const past = (await readHistory(experiments)).find((entry) => entry.id === id)
  return { read: seeded(read, past?.seed), kept, again: id }
}

/** Reads the limits of plans that flags set. Throws a `UsageError` for an invalid policy. */
export async function limitsOf({
  production,
  policy,
}: Pick<RunRequest, 'production' | 'policy'>): Promise<PlanLimits> {
  return { production, policy: policy === undefined ? undefined : await readPolicyFile(policy) }
}

/** Returns the plan with a seed in place of the drawn one; a written seed takes precedence. */
function seeded(read: ReadPlan, seed: number | undefined): ReadPlan {
  if (!read.ok || seed === undefined) return read
  const { rules, file } = read.plan
  return { ...read, plan: { ...read.plan, seed: rules?.seed ?? file.seed ?? seed } }
}

/** Reads the plan in a file. Throws a `UsageError` when it cannot be read. */
export async function readPlanFile(path: string, limits?: PlanLimits): Promise<ReadAndSaved> {
  const text = await readText(path, MAX_PLAN_BYTES, quoted(path))
  const read = (file: string): Promise<string> => readBoundedText(file, MAX_PLAN_BYTES)
  return readAndKeep(path, text, read, limits)
}

/** Returns a plan that could be read, with its rejections. Throws an `InvalidFilesError`. */
export function validPlan(file: string, read: ReadPlan): ReadPlan & { readonly ok: true } {
  if (read.ok) return read
  const { problems } = read
  const listed = problems.map(problemLines).join('')
  throw new InvalidFilesError(`${quoted(file)} is not a valid plan`, problems, listed)
}

/** Describes the reasons to reject a plan, one per line. */
export function complaintsOf(file: string, rejections: readonly LocatedRejection[]): string {
  return rejections.map((rejection) => rejectionLine(file, rejection)).join('')
}

/** Describes reasons that are not about a line of the plan. */
export function rejectedLines(rejections: readonly Rejection[]): string {
  return rejections
    .map(({ code, wrong, fix }) => `${code}: ${plain(`${wrong}; ${asInvoked(fix)}`)}\n`)
    .join('')
}

/** Prints the reasons for which nothing ran. */
export async function printRejected(
  rejections: readonly Rejection[],
  json: boolean,
  text = rejectedLines(rejections),
  end = 'no fault was injected',
): Promise<void> {
  if (json) await print(`${JSON.stringify({ rejected: rejections })}\n`)
  else process.stderr.write(`${text}${end}\n`)
}

function rejectionLine(file: string, { line, column, code, wrong, fix }: LocatedRejection): string {
  return `${plain(file)}:${line}:${column}: ${code}: ${plain(wrong)}; ${plain(asInvoked(fix))}\n`
}

/** Checks plans; returns the exit code. */
export async function validatePlans({
  paths,
  json,
  ...flags
}: RequestOf<typeof EXPERIMENT_VALIDATE>): Promise<number> {
  const limits = await limitsOf(flags)
  const files = []
  for (const path of paths) {
    const { read } = await readPlanFile(path, limits)
    const ok = read.ok && read.rejections.length === 0
    const problems = read.ok ? [] : read.problems
    const rejections = read.ok ? read.rejections : []
    files.push({ file: path, ok, problems, rejections })
    const complaints = `${problems.map(problemLines).join('')}${complaintsOf(path, rejections)}`
    if (!json) await print(ok ? `${plain(path)}: ok\n` : complaints)
  }
  const ok = files.every((each) => each.ok)
  if (json) await print(`${JSON.stringify({ ok, files }, null, 2)}\n`)
  return ok ? 0 : 1
}
